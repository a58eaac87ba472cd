// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization

extension BusLoop {
    /// Makes a call that does not block the loop, and waits for its response. Does not start the called program.
    ///
    /// - Parameters:
    ///   - timeout: the maximum time to wait.
    ///   - read: reads the response on the loop's thread.
    func call<Response: Sendable>(
        _ call: MessageBus.Call,
        within timeout: Duration,
        read: @escaping @Sendable (BusResponse) -> Response
    ) async throws(MessageBus.Failure) -> Response {
        let result = await withCheckedContinuation {
            (waiting: CheckedContinuation<Result<Response, MessageBus.Failure>, Never>) in
            let pending = PendingCall { outcome in waiting.resume(returning: outcome.map(read)) }
            // GLib reports nothing more after the connection has ended.
            BlockingCalls.after(timeout + .seconds(1)) { [weak pending] in pending?.giveUp() }
            self.post { connection in
                unsafe pending.begin(call, connection.pointer, G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout)
            }
        }
        return try result.get()
    }

    /// Makes a call that does not block the loop, on the loop's thread.
    ///
    /// - Parameters:
    ///   - timeout: the maximum time to wait; `nil` for no limit.
    ///   - ended: runs on the loop's thread, after the signals that have arrived before the response. Does not run if
    ///     the connection ends before.
    func send(
        _ call: MessageBus.Call,
        over connection: OpaquePointer,
        flags: GDBusCallFlags = G_DBUS_CALL_FLAGS_NONE,
        timeout: Duration?,
        _ ended: @escaping @Sendable (Result<BusResponse, MessageBus.Failure>) -> Void
    ) {
        unsafe PendingCall(ended).begin(call, connection, flags, timeout)
    }

    /// Receives the signals that match a rule, for as long as the connection lives.
    ///
    /// - Parameter received: runs on the loop's thread.
    func subscribe(
        _ rules: [String],
        _ connection: OpaquePointer,
        _ received: @escaping @Sendable (BusSignal) -> Void
    ) throws(MessageBus.Failure) {
        for rule in rules {
            unsafe try MessageBus.send(.bus("AddMatch", [.string(rule)]), over: connection, self.cancellable)
        }
        unsafe g_dbus_connection_signal_subscribe(
            connection,
            nil,
            nil,
            nil,
            nil,
            nil,
            G_DBUS_SIGNAL_FLAGS_NONE,
            { _, sender, _, interface, member, parameters, data in
                guard let data = unsafe data, let parameters = unsafe parameters,
                    let signal = unsafe BusSignal(sender, interface, member, parameters)
                else { return }
                unsafe Unmanaged<SignalReader>.fromOpaque(data).takeUnretainedValue().received(signal)
            },
            Unmanaged.passRetained(SignalReader(received)).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<SignalReader>.fromOpaque(data).release() } }
        )
    }

    private final class SignalReader: Sendable {
        let received: @Sendable (BusSignal) -> Void

        init(_ received: @escaping @Sendable (BusSignal) -> Void) { self.received = received }
    }
}

/// The response to a call: a tuple of values, valid while it is read.
@safe struct BusResponse {
    let pointer: OpaquePointer

    init(pointer: OpaquePointer) { unsafe self.pointer = pointer }
}

/// A call to a program that waits for its response. Given up with an error when it is released.
private final class PendingCall: Sendable {
    typealias Completion = @Sendable (Result<BusResponse, MessageBus.Failure>) -> Void

    private let completion: Mutex<Completion?>

    init(_ completion: @escaping Completion) { self.completion = Mutex(completion) }

    deinit { self.giveUp() }

    /// - Parameter timeout: `nil` for no limit.
    func begin(
        _ call: MessageBus.Call,
        _ connection: OpaquePointer,
        _ flags: GDBusCallFlags,
        _ timeout: Duration?
    ) {
        unsafe g_dbus_connection_call(
            connection,
            call.destination,
            call.path,
            call.interface,
            call.method,
            MessageBus.tuple(call.arguments),
            nil,
            flags,
            timeout.map { gint($0 / .milliseconds(1)) } ?? gint.max,
            nil,
            { connection, result, data in unsafe PendingCall.finish(connection, result, data) },
            Unmanaged.passRetained(self).toOpaque()
        )
    }

    func giveUp() { self.complete(.failure(MessageBus.Failure(message: "The connection to the bus has ended"))) }

    private func complete(_ result: Result<BusResponse, MessageBus.Failure>) {
        self.completion.withLock { $0.take() }?(result)
    }

    static func finish(_ connection: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ data: gpointer?) {
        guard let data = unsafe data else { return }
        let pending = unsafe Unmanaged<PendingCall>.fromOpaque(data).takeRetainedValue()
        var error: UnsafeMutablePointer<GError>?
        guard let connection = unsafe connection,
            let response = unsafe g_dbus_connection_call_finish(OpaquePointer(connection), result, &error)
        else { return pending.complete(.failure(unsafe MessageBus.failure(error))) }
        pending.complete(.success(unsafe BusResponse(pointer: response)))
        unsafe g_variant_unref(response)
    }
}
