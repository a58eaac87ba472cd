// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization
import UserNotifications

/// Finds the systems of `notify`, sends the notification, and waits for the answer.
struct NotifyRun: Sendable {
    struct Result: Sendable {
        /// How many systems received the notification.
        var reached = 0
        /// How many of them show or keep it.
        var kept = 0
        var response: NotificationResponse?
        /// Why the only system did not receive it.
        var failure: Failure?
    }

    let broadcast: NotificationBroadcast
    let configuration: RemoteSystemsConfiguration
    let searchTime: Duration
    let output: Output

    /// Sends to one system.
    func send(to name: String, acceptsName: Bool, wait: Duration?) async throws -> Result {
        let finder = SystemFinder(name, wait: self.searchTime, self.configuration, acceptsName: acceptsName)
        let system = try await finder.find(offering: RemoteNotificationConnection.service)
        let count = NotifyCount(self.output)
        await self.send(to: system, count)
        let again = Task {
            for await _ in self.broadcast.losses {
                // A daemon that was restarted may have another port.
                await self.sendAgain { try? await finder.find(offering: RemoteNotificationConnection.service) }
            }
        }
        defer { again.cancel() }
        return await self.result(of: count, wait: wait) {}
    }

    /// Sends to every system that is listed, as soon as it is found.
    func sendToAll(wait: Duration?) async throws -> Result {
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = self.searchTime
        options.stopsWithLastSequence = false
        let watcher = RemoteSystemWatcher(self.configuration, filters: [], options: options)
        let events = watcher.events
        try await watcher.start()
        let count = NotifyCount(self.output)
        let (enumerated, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let sending = Task {
            await withDiscardingTaskGroup { group in
                for await event in events {
                    switch event {
                    case .added(let system), .updated(let system):
                        guard Self.isReceiver(system), await !self.broadcast.includes(system.id) else { continue }
                        count.begin()
                        group.addTask {
                            await self.send(to: system, count)
                            count.end()
                            feed.yield()
                        }
                    case .enumerationCompleted:
                        count.enumerationCompleted()
                        feed.yield()
                    case .removed, .error: break
                    }
                }
            }
        }
        let again = Task {
            await withDiscardingTaskGroup { group in
                for await id in self.broadcast.losses {
                    group.addTask { await self.sendAgain { watcher.systems.first { $0.id == id } } }
                }
            }
        }
        let result = await self.result(of: count, wait: wait) {
            for await _ in enumerated where count.isComplete { return }
        }
        for system in watcher.systems.sorted(by: { $0.displayName < $1.displayName }) {
            guard await !self.broadcast.includes(system.id) else { continue }
            count.report(system, "not reached", "It has no host daemon that receives notifications.")
        }
        sending.cancel()
        again.cancel()
        await watcher.stop()
        return result
    }

    /// Sends to a system again whose connection was lost, until it has the notification or the command ends.
    ///
    /// - Parameter system: returns the system, with its present addresses; `nil` while it is not found.
    private func sendAgain(_ system: @Sendable () async -> RemoteSystem?) async {
        var pause = Duration.milliseconds(500)
        while (try? await Task.sleep(for: pause)) != nil {
            pause = min(pause * 2, .seconds(30))
            guard let system = await system(), Self.isReceiver(system) else { continue }
            let outcome = await self.broadcast.send(
                to: system.id,
                named: system.displayName,
                RemoteSystemConnectionRequest(system: system),
                isAgain: true
            )
            switch outcome {
            case .failed?: continue
            case .delivered?, nil: return
            }
        }
    }

    private static func isReceiver(_ system: RemoteSystem) -> Bool {
        system.applications.contains { application in
            application.services.contains { $0.name == RemoteNotificationConnection.service }
        }
    }

    private func send(to system: RemoteSystem, _ count: NotifyCount) async {
        let outcome = await self.broadcast.send(
            to: system.id,
            named: system.displayName,
            RemoteSystemConnectionRequest(system: system)
        )
        switch outcome {
        case nil: break
        case .failed(let error)?:
            count.failed(Failure(error))
            count.report(system, "not reached", Failure(error).message)
        case .delivered(let delivery)?:
            count.delivered(delivery.status)
            count.report(system, delivery.status.rawValue, delivery.reason)
        }
    }

    /// Waits for an answer, or, without `wait`, until everything was sent.
    private func result(
        of count: NotifyCount,
        wait: Duration?,
        everythingSent: @escaping @Sendable () async -> Void
    ) async -> Result {
        let responses = self.broadcast.responses
        let response = await withTaskGroup(of: NotificationResponse??.self) { group in
            group.addTask {
                guard wait != nil else { return .none }
                for await response in responses { return .some(response) }
                return .none
            }
            group.addTask {
                await everythingSent()
                guard let wait else { return .some(nil) }
                // Without a system that keeps it, nothing is waited for.
                guard count.kept > 0 else { return .some(nil) }
                try? await Task.sleep(for: wait)
                return .some(nil)
            }
            defer { group.cancelAll() }
            while let next = await group.next() {
                if let next { return next }
            }
            return nil
        }
        var result = count.result
        result.response = response
        return result
    }
}

/// Counts the systems that received a notification, and reports each.
final class NotifyCount: Sendable {
    private struct State {
        var result = NotifyRun.Result()
        var running = 0
        var isEnumerated = false
    }

    private let state = Mutex(State())
    private let output: Output

    init(_ output: Output) { self.output = output }

    var result: NotifyRun.Result { self.state.withLock { $0.result } }
    var kept: Int { self.result.kept }
    /// Whether all systems were found, and everything was sent.
    var isComplete: Bool { self.state.withLock { $0.isEnumerated && $0.running == 0 } }

    func begin() { self.state.withLock { $0.running += 1 } }
    func end() { self.state.withLock { $0.running -= 1 } }
    func enumerationCompleted() { self.state.withLock { $0.isEnumerated = true } }
    func failed(_ failure: Failure) { self.state.withLock { $0.result.failure = failure } }

    func delivered(_ status: NotificationDelivery.Status) {
        self.state.withLock { state in
            state.result.reached += 1
            if status != .withheld { state.result.kept += 1 }
        }
    }

    func report(_ system: RemoteSystem, _ status: String, _ reason: String?) {
        try? self.output.json(
            NotifyDeliveryOutput(systemID: system.id, system: system.displayName, status: status, reason: reason)
        )
        self.output.note("\(system.displayName): \(status)\(reason.map { ". \($0)" } ?? "")".printable)
    }
}

/// The output of `notify --json` for one system.
private struct NotifyDeliveryOutput: Encodable {
    let event = "delivery"
    let time = Date.now
    var systemID: SystemID
    var system: String
    var status: String
    var reason: String?
}
