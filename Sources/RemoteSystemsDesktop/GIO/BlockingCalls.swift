// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch

/// Runs GIO's blocking calls, and connections to a bus, on threads of their own.
///
/// Dispatch is no place for them: it has as many threads as the machine has cores, which it shares with Swift's tasks,
/// and adds one in each second while all of them wait. Two connections to buses would hold up a whole host.
enum BlockingCalls {
    /// Among the calls are about a dozen that run as long as the process: a connection to a bus each. A peer can cause
    /// the others, and each takes a thread and a few files.
    private static let threads = BlockingThreads(maximum: 64)
    private static let timers = DispatchQueue(label: "remote-systems.desktop.timers")

    /// Runs a short function later, on another thread.
    static func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
        Self.timers.asyncAfter(
            deadline: .now() + .milliseconds(Int(max(time, .zero) / .milliseconds(1))),
            execute: body
        )
    }

    /// Runs a call that reads local files and cannot be cancelled.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Self.threads.start { continuation.resume(returning: body()) }
        }
    }

    /// Runs a call that waits for another process.
    ///
    /// The call is cancelled when the time is over, and when the task is cancelled. The time for which it waits for a
    /// thread counts.
    ///
    /// - Parameter body: The call. It must pass the cancellable to every GIO function that waits.
    static func run<Result: Sendable>(
        atMost time: Duration,
        _ body: @escaping @Sendable (Cancellable) -> Result
    ) async -> Result {
        let cancellable = Cancellable()
        let timer = DispatchSource.makeTimerSource(queue: Self.timers)
        timer.setEventHandler { cancellable.cancel() }
        timer.schedule(deadline: .now() + .milliseconds(Int(max(time, .zero) / .milliseconds(1))))
        timer.activate()
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await Self.run { body(cancellable) }
        } onCancel: {
            cancellable.cancel()
        }
    }
}

/// Cancels GIO calls that are in progress, and those that begin later.
///
/// The `Sendable` conformance is unchecked because of the pointer. GCancellable may be cancelled from any thread, and
/// the pointer never changes.
@safe final class Cancellable: @unchecked Sendable {
    let object: UnsafeMutablePointer<GCancellable>?

    init() { unsafe self.object = g_cancellable_new() }
    deinit { unsafe g_object_unref(self.object) }

    var isCancelled: Bool { unsafe g_cancellable_is_cancelled(self.object) != 0 }

    func cancel() { unsafe g_cancellable_cancel(self.object) }
}
