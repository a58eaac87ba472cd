// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Runs an actor on a serial dispatch queue, so that callbacks on the queue already run inside the actor.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

/// A timer that fires once on a queue and can be set again. Confined to that queue.
final class QueueTimer {
    private let source: any DispatchSourceTimer
    private let action: () -> Void
    private var isSet = false

    init(queue: DispatchQueue, action: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        self.action = action
        source.setEventHandler { [weak self] in
            guard let self, self.isSet else { return }
            self.isSet = false
            self.action()
        }
        source.schedule(deadline: .distantFuture)
        source.resume()
    }

    func set(after delay: Duration) {
        isSet = true
        let (seconds, attoseconds) = max(delay, .zero).components
        let nanoseconds = Int(clamping: attoseconds / 1_000_000_000)
        // Limited to a year, so that the sum does not overflow.
        source.schedule(deadline: .now() + .seconds(Int(min(seconds, 31_536_000))) + .nanoseconds(nanoseconds))
    }

    func unset() {
        guard isSet else { return }
        isSet = false
        source.schedule(deadline: .distantFuture)
    }

    deinit { source.cancel() }
}
