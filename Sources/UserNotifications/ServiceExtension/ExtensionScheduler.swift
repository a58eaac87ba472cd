// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization

/// Schedules notifications in the process of an extension, through the lines that it exchanges with the host daemon.
final class ExtensionScheduler: Sendable {
    private struct State {
        /// What waits for responses, in the order of the requests.
        var waiting: [CheckedContinuation<Date?, any Error>] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let write: @Sendable (String) -> Void

    /// - Parameter write: writes a line for the host daemon.
    init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    func schedule(
        _ request: NotificationRequest,
        _ category: NotificationCategory?,
        _ applicationName: String?
    ) async throws -> Date? {
        var notification = RemoteNotification(request, category: category)
        notification.deliveryID = nil
        notification.applicationName = applicationName
        let line = try ExtensionSchedule.request(notification)
        return try await withCheckedThrowingContinuation { continuation in
            let isOver = self.state.withLock { state -> Bool in
                guard !state.isOver else { return true }
                state.waiting.append(continuation)
                // Tasks may schedule at the same time: the lines have the order of those that wait.
                self.write(line)
                return false
            }
            if isOver { continuation.resume(throwing: Self.daemonEnded) }
        }
    }

    /// The lines of the host daemon without the responses, which are handled here. Called once.
    func requests(in lines: AsyncStream<String>) -> AsyncStream<String> {
        let (requests, feed) = AsyncStream.makeStream(of: String.self)
        let reading = Task {
            for await line in lines {
                if let response = ExtensionSchedule.response(in: line) {
                    self.received(response)
                } else {
                    feed.yield(line)
                }
            }
            self.end()
            feed.finish()
        }
        feed.onTermination = { _ in reading.cancel() }
        return requests
    }

    private func received(_ response: Result<Date?, NotificationError>) {
        let first = self.state.withLock { state -> CheckedContinuation<Date?, any Error>? in
            state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        switch response {
        case .success(let date): first?.resume(returning: date)
        case .failure(let error): first?.resume(throwing: error)
        }
    }

    private func end() {
        let waiting = self.state.withLock { state -> [CheckedContinuation<Date?, any Error>] in
            state.isOver = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(throwing: Self.daemonEnded) }
    }

    private static let daemonEnded = NotificationError(.notShown, "The host daemon has ended.")
}
