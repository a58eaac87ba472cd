// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch
internal import Synchronization

/// Threads for calls that block, at most so many at the same time. Further calls wait for a thread, in their order.
///
/// GIO ends the process when it gets no file for a call, so a flood of calls must not start any number of threads.
final class BlockingThreads: Sendable {
    typealias Call = @Sendable () -> Void

    private final class Job: Sendable {
        let body: Call

        init(_ body: @escaping Call) { self.body = body }
    }

    private struct Use {
        var threads = 0
        var waiting: [Call] = []
    }

    private let maximum: Int
    private let use = Mutex(Use())

    /// - Parameter maximum: the maximum number of threads; at least one.
    init(maximum: Int) { self.maximum = max(maximum, 1) }

    /// The number of threads that run now.
    var count: Int { self.use.withLock { $0.threads } }

    /// Makes a call on a thread, as soon as one is free.
    func start(_ call: @escaping Call) {
        let mayBegin = self.use.withLock { use in
            guard use.threads < self.maximum else {
                use.waiting.append(call)
                return false
            }
            use.threads += 1
            return true
        }
        if mayBegin { self.startThread { self.make(call) } }
    }

    /// Makes the first call, then those that wait.
    private func make(_ first: Call) {
        first()
        while let next = self.next() { next() }
    }

    /// The next call for a thread that is free; `nil` if the thread ends.
    private func next() -> Call? {
        self.use.withLock { use in
            guard !use.waiting.isEmpty else {
                use.threads -= 1
                return nil
            }
            return use.waiting.removeFirst()
        }
    }

    private func startThread(_ body: @escaping Call) {
        let job = unsafe Unmanaged.passRetained(Job(body))
        let thread = unsafe g_thread_try_new(
            "blocking",
            { job in
                if let job = unsafe job { unsafe Unmanaged<Job>.fromOpaque(job).takeRetainedValue().body() }
                return nil
            },
            job.toOpaque(),
            nil
        )
        if let thread = unsafe thread { return unsafe g_thread_unref(thread) }
        // The process may have no further thread now.
        unsafe job.release()
        DispatchQueue.global().async(execute: body)
    }
}
