// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// A connection to a bus that stays open, with a thread and a GLib main context of its own.
///
/// The `Sendable` conformance is unchecked because of the pointer, which never changes. `g_main_context_wakeup` may be
/// called from any thread.
@safe final class BusLoop: @unchecked Sendable {
    typealias Work = @Sendable (BusConnection) -> Void

    private let bus: MessageBus
    private let context: OpaquePointer?
    /// What runs in the next turn; `nil` after the end.
    private let work = Mutex<[Work]?>([])
    let cancellable = Cancellable()

    /// The delay before a bus that ended or refused is connected to again, and its maximum. Doubled each time.
    private static let delay = Duration.seconds(1)
    private static let maxDelay = Duration.seconds(60)

    init(_ bus: MessageBus = .session) {
        self.bus = bus
        unsafe self.context = g_main_context_new()
    }

    deinit { unsafe g_main_context_unref(self.context) }

    /// Serves again and again until cancelled, or until a graceful shutdown. Does nothing where no session bus is
    /// known.
    ///
    /// - Parameters:
    ///   - what: the beginning of the message of a connection that failed.
    ///   - level: the level of that message. Defaults to `info`.
    ///   - serve: returns when the bus has ended or the task is cancelled.
    static func keepServing(
        _ what: Logger.Message,
        level: Logger.Level = .info,
        _ logger: Logger,
        _ serve: @escaping @Sendable () async -> Result<Void, MessageBus.Failure>
    ) async throws {
        guard MessageBus.isSessionKnown else { return try await gracefulShutdown() }
        try? await cancelWhenGracefulShutdown {
            var delay = Self.delay
            while !Task.isCancelled {
                if case .failure(let failure) = await serve() {
                    logger.log(level: level, what, metadata: ["reason": "\(failure.message)"])
                } else {
                    delay = Self.delay
                }
                try await Task.sleep(for: delay)
                delay = min(delay * 2, Self.maxDelay)
            }
        }
    }

    /// Runs until the bus ends, or ``stop()``.
    ///
    /// - Parameters:
    ///   - begin: runs once with the connection.
    ///   - turn: runs after each event, on the same thread. `false` ends the loop.
    func run(
        begin: (OpaquePointer) throws(MessageBus.Failure) -> Void,
        turn: (OpaquePointer) -> Bool = { _ in true }
    ) throws(MessageBus.Failure) {
        unsafe g_main_context_push_thread_default(self.context)
        defer {
            self.work.withLock { $0 = nil }
            unsafe g_main_context_pop_thread_default(self.context)
        }
        unsafe try self.bus.withConnection(self.cancellable) { connection throws(MessageBus.Failure) in
            unsafe try begin(connection)
            while !self.cancellable.isCancelled, unsafe g_dbus_connection_is_closed(connection) == 0 {
                for work in self.work.withLock({ work in
                    defer { work = [] }
                    return work ?? []
                }) { unsafe work(BusConnection(pointer: connection)) }
                guard unsafe turn(connection) else { return }
                unsafe g_main_context_iteration(self.context, 1)
            }
        }
    }

    /// Runs a function on the loop's thread, unless the loop has ended or ends before.
    func post(_ work: @escaping Work) {
        self.work.withLock { $0?.append(work) }
        self.wakeUp()
    }

    func wakeUp() { unsafe g_main_context_wakeup(self.context) }

    func stop() {
        self.cancellable.cancel()
        self.wakeUp()
    }

    /// Takes a name. Fails if another process has it, for example the daemon of another system of this user.
    func requestName(_ name: String, _ connection: OpaquePointer) throws(MessageBus.Failure) {
        var isOwner = false
        let doNotQueue: UInt32 = 4
        let call = MessageBus.Call.bus("RequestName", [.string(name), .uint32(doNotQueue)])
        unsafe try MessageBus.send(call, over: connection, self.cancellable) { response, _ in
            isOwner = unsafe BusSignal.number(of: response) == 1
        }
        guard isOwner else { throw MessageBus.Failure(message: "Another process has the name \(name)") }
    }
}

/// An open connection of a ``BusLoop``, for use on its thread.
@safe struct BusConnection {
    let pointer: OpaquePointer

    init(pointer: OpaquePointer) { unsafe self.pointer = pointer }
}
