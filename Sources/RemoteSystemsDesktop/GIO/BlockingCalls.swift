// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch

/// Where GIO's calls are made, which block: on threads that may be blocked. A host has no more than a few launches and starts under
/// way at once.
enum BlockingCalls {
    private static let queue = DispatchQueue(label: "remote-systems.desktop", attributes: .concurrent)
    private static let timers = DispatchQueue(label: "remote-systems.desktop.timers")

    /// For what reads this machine's files.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: body()) }
        }
    }

    /// For what waits for others, who may never say a word: it is called off when the time is up and when the task is cancelled.
    ///
    /// - Parameter body: gives the cancellable to whatever waits.
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

/// Ends calls of GIO's that are under way, or that begin after it.
///
/// Unchecked, since the compiler cannot know of what is behind the pointer: GCancellable is made to be cancelled from any thread, and the
/// pointer never changes.
@safe final class Cancellable: @unchecked Sendable {
    let object: UnsafeMutablePointer<GCancellable>?

    init() { unsafe self.object = g_cancellable_new() }
    deinit { unsafe g_object_unref(self.object) }

    var isCancelled: Bool { unsafe g_cancellable_is_cancelled(self.object) != 0 }

    func cancel() { unsafe g_cancellable_cancel(self.object) }
}
