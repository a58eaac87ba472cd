// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization
import UserNotifications

/// Finds the systems of `notify`, sends the notification, and waits for the answer.
struct NotifyRun: Sendable {
    struct Result: Sendable {
        var ending: Ending
        /// How many systems received the notification.
        var reached: Int
        /// How many of them show or keep it.
        var kept: Int
        /// Why systems did not receive it.
        var failures: [Failure]
        /// The systems that received it, or do not accept it.
        var settled: Set<SystemID> = []
    }

    /// Why a run ended.
    enum Ending: Sendable {
        case answered(NotificationResponse)
        /// Everything was sent, and no answer is awaited.
        case sent
        /// The time for an answer is over.
        case timedOut
        /// Every system has withdrawn the notification because its expiration passed.
        case expired
        /// No system keeps the notification any more: it was replaced, or the user has denied it.
        case notKept
        /// A signal ended the command.
        case interrupted
    }

    /// The time for an answer that was given just before the expiration to arrive.
    private static let answerTime = Duration.seconds(1)

    let broadcast: NotificationBroadcast
    let configuration: RemoteSystemsConfiguration
    let searchTime: Duration
    /// Whether the host daemon of this system keeps it for systems that are away.
    let isLater: Bool
    let output: Output

    /// Finds the host daemon of the system that the command line names.
    ///
    /// - Parameter whenAway: What can be done while the system is away. Defaults to nothing.
    func finder(_ name: String?, _ acceptsName: Bool, whenAway: String? = nil) -> SystemFinder {
        SystemFinder(
            name,
            wait: self.searchTime,
            self.configuration,
            acceptsName: acceptsName,
            program: .hostDaemon,
            whenAway: whenAway
        )
    }

    /// Sends to one system.
    func send(to name: String, acceptsName: Bool, wait: Duration?) async throws -> Result {
        // A question cannot wait in the outbox.
        let whenAway = wait == nil && !self.isLater ? "With --later it is sent when that system is back." : nil
        let finder = self.finder(name, acceptsName, whenAway: whenAway)
        let system = try await finder.find(offering: RemoteNotificationConnection.service)
        // The failure to reach the only system is the error of the command.
        let count = NotifyCount(self.output, notesFailures: false)
        await self.send(to: system, count)
        let again = Task {
            for await _ in self.broadcast.losses {
                // A daemon that was restarted may have another port.
                await self.sendAgain(count) { try? await finder.find(offering: RemoteNotificationConnection.service) }
            }
        }
        defer { again.cancel() }
        // Without a system that keeps it, no answer can come.
        return await self.result(of: count, wait: count.kept > 0 ? wait : nil) {}
    }

    /// Sends to every system that is listed, as soon as it is found.
    func sendToAll(wait: Duration?) async throws -> Result {
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = self.searchTime
        options.stopsWithLastSequence = false
        let watcher = RemoteSystemWatcher(self.configuration, filters: [], options: options)
        let events = watcher.events
        try await watcher.start()
        // The notification is sent nevertheless if the list cannot be read.
        let known = (try? RemoteSystemsAccount(self.configuration).systems()) ?? []
        let count = NotifyCount(self.output, names: known.filter { !$0.isRevoked }.compactMap(\.name))
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
                    group.addTask { await self.sendAgain(count) { watcher.systems.first { $0.id == id } } }
                }
            }
        }
        let result = await self.result(of: count, wait: wait) {
            for await _ in enumerated where count.isComplete { break }
            guard wait != nil, count.kept == 0, !Task.isCancelled else { return }
            self.output.note("No system has the notification yet. A system that appears receives it.")
        }
        let found = watcher.systems
        for system in found.sorted(by: { $0.displayName < $1.displayName }) {
            guard await !self.broadcast.includes(system.id) else { continue }
            let reason = "It has no host daemon that receives notifications."
            count.report(system.id, system.displayName, "not reached", reason)
        }
        // A search that was interrupted has not looked for all of them.
        if count.isEnumerated { await self.reportAway(count, except: Set(found.map(\.id))) }
        sending.cancel()
        again.cancel()
        await watcher.stop()
        return result
    }

    /// Reports the systems of the account that are away, or have never had a host daemon, and this one.
    private func reportAway(_ count: NotifyCount, except found: Set<SystemID>) async {
        // The notification was sent: a list that cannot be read is no failure of the command.
        let systems = (try? RemoteSystemsAccount(self.configuration).systems()) ?? []
        for system in systems where !system.isRevoked && !system.wasRevoked {
            guard !found.contains(system.id), await !self.broadcast.includes(system.id) else { continue }
            // The host daemon of this system keeps it for the others.
            guard system.isLocal || !self.isLater else { continue }
            let failure =
                system.isLocal
                ? Failure(withoutDaemonOf: self.configuration)
                : Failure(
                    "\(RemoteSystemError.Code.unreachable)",
                    "It was not found on the network: it is away, or has no host daemon.",
                    canRetry: true
                )
            count.report(system.id, system.name ?? system.id.short, "not reached", failure.message, failure)
        }
    }

    /// Sends to a system again whose connection was lost, until it has the notification, refuses it or the command
    /// ends.
    ///
    /// - Parameter system: returns the system, with its present addresses; `nil` while it is not found.
    private func sendAgain(_ count: NotifyCount, _ system: @Sendable () async -> RemoteSystem?) async {
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
            case .failed(let error as NotificationError)? where error.code != .rateLimited:
                return count.failed(error, system)
            case .failed?: continue
            case .delivered(let delivery)?: return count.delivered(delivery, system)
            case nil: return
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
        case .failed(let error)?: count.failed(error, system)
        case .delivered(let delivery)?: count.delivered(delivery, system)
        }
    }

    /// Waits for an answer, or, without `wait`, until everything was sent.
    private func result(
        of count: NotifyCount,
        wait: Duration?,
        everythingSent: @escaping @Sendable () async -> Void
    ) async -> Result {
        let ending = await withTaskGroup(of: Ending?.self) { group in
            group.addTask {
                await everythingSent()
                guard let wait else { return .sent }
                try? await Task.sleep(for: wait)
                return .timedOut
            }
            if wait != nil {
                group.addTask { [responses = self.broadcast.responses] in
                    for await response in responses { return .answered(response) }
                    return nil
                }
                group.addTask { await self.expired() ? .expired : nil }
                group.addTask { await self.notKept() ? .notKept : nil }
            }
            defer { group.cancelAll() }
            while let next = await group.next() {
                // Only a signal cancels this task.
                if case .answered? = next { return next }
                if Task.isCancelled { return .interrupted }
                if let next { return next }
            }
            return nil
        }
        return count.result(ending ?? .interrupted)
    }

    /// Waits until no system that had the notification keeps it.
    ///
    /// - Returns: `false` if the task was cancelled before.
    private func notKept() async -> Bool {
        // Each system reports for itself, and others may be receiving it: all of them together are looked at.
        for await _ in await self.broadcast.changes() {
            guard await self.broadcast.hasEnded else { continue }
            // An answer may be on its way from another system.
            try? await Task.sleep(for: Self.answerTime)
            if await self.broadcast.hasEnded { return !Task.isCancelled }
        }
        return false
    }

    /// Waits until every system that had the notification has withdrawn it because its expiration passed.
    ///
    /// - Returns: `false` if the task was cancelled before.
    private func expired() async -> Bool {
        guard self.broadcast.hasExpiration else { return false }
        var changes = await self.broadcast.changes().makeAsyncIterator()
        while !Task.isCancelled {
            if let end = await self.broadcast.expiration.map({ $0 + Self.answerTime }) {
                if end <= .now { return true }
                // Looked at again then: a system that receives it meanwhile has a later end.
                try? await Task.sleep(until: end, clock: .continuous)
            } else {
                // A system may be receiving it now.
                guard await changes.next() != nil else { return false }
            }
        }
        return false
    }
}

/// Counts the systems that received a notification, and reports each.
final class NotifyCount: Sendable {
    private struct State {
        var received: [SystemID: NotificationDelivery.Status] = [:]
        var failures: [SystemID: Failure] = [:]
        /// The systems that refused it, and will again.
        var refused: Set<SystemID> = []
        var running = 0
        var isEnumerated = false
    }

    private let state = Mutex(State())
    private let output: Output
    private let notesFailures: Bool
    /// The names that several systems have.
    private let repeatedNames: Set<String>

    /// - Parameters:
    ///   - notesFailures: whether failures are written to standard error. Defaults to `true`.
    ///   - names: the names of the systems of the account. Repeated ones are reported with the id. Defaults to
    ///     none.
    init(_ output: Output, notesFailures: Bool = true, names: [String] = []) {
        self.output = output
        self.notesFailures = notesFailures
        self.repeatedNames = Set(Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys)
    }

    /// How many systems show or keep the notification.
    var kept: Int { self.state.withLock { Self.kept($0) } }
    /// Whether all systems were found, and everything was sent.
    var isComplete: Bool { self.state.withLock { $0.isEnumerated && $0.running == 0 } }
    /// Whether the time to look for systems is over, or all were found before.
    var isEnumerated: Bool { self.state.withLock { $0.isEnumerated } }

    func begin() { self.state.withLock { $0.running += 1 } }
    func end() { self.state.withLock { $0.running -= 1 } }
    func enumerationCompleted() { self.state.withLock { $0.isEnumerated = true } }

    func result(_ ending: NotifyRun.Ending) -> NotifyRun.Result {
        self.state.withLock { state in
            NotifyRun.Result(
                ending: ending,
                reached: state.received.count,
                kept: Self.kept(state),
                failures: Array(state.failures.values),
                settled: state.refused.union(state.received.keys)
            )
        }
    }

    private static func kept(_ state: State) -> Int { state.received.values.count { $0 != .withheld } }

    /// A system received the notification. Reported once.
    func delivered(_ delivery: NotificationDelivery, _ system: RemoteSystem) {
        let isFirst = self.state.withLock { state in
            state.failures[system.id] = nil
            guard state.received[system.id] == nil else { return false }
            state.received[system.id] = delivery.status
            return true
        }
        if isFirst { self.report(system.id, system.displayName, delivery.status.rawValue, delivery.reason) }
    }

    /// A system did not receive the notification.
    func failed(_ error: any Error, _ system: RemoteSystem) {
        let failure = Failure(sending: error, to: system)
        let code = (error as? RemoteSystemError)?.code
        let isRefused = error is NotificationError || code == .refused || code == .serviceFailed
        let isFirst = self.state.withLock { state in
            guard state.received[system.id] == nil else { return false }
            state.failures[system.id] = failure
            if isRefused, !failure.canRetry { state.refused.insert(system.id) }
            if isRefused, !self.notesFailures {
                // The name is not printed before it.
                state.failures[system.id]?.message =
                    "\(system.displayName) refused the notification. \(failure.message)"
            }
            return true
        }
        guard isFirst else { return }
        let status = isRefused ? "refused" : "not reached"
        self.report(system.id, system.displayName, status, failure.message, failure)
    }

    func report(_ id: SystemID, _ name: String, _ status: String, _ reason: String?, _ failure: Failure? = nil) {
        try? self.output.json(
            NotifyDeliveryOutput(
                systemID: id,
                system: name,
                status: status,
                reason: reason,
                error: failure?.error,
                canRetry: failure?.canRetry
            )
        )
        guard failure == nil || self.notesFailures else { return }
        let name = self.repeatedNames.contains(name) ? "\(name) (\(id.short))" : name
        self.output.note("\(name): \(status)\(reason.map { ". \($0)" } ?? "")".printable)
    }
}

extension Failure {
    /// The error of a system that did not receive the notification.
    fileprivate init(sending error: any Error, to system: RemoteSystem) {
        self.init(error)
        guard let refusal = error as? NotificationError else { return }
        self.side = system.isLocal ? .local : .remote
        if refusal.code == .notAuthorized {
            self.message += " Retrying does not help until 'remotesystems notifications permit' permits them there."
        }
    }
}

/// The output of `notify --json` for one system.
struct NotifyDeliveryOutput: Encodable {
    let event = "delivery"
    let time = Date.now
    var systemID: SystemID
    var system: String
    var status: String
    var reason: String?
    var error: String?
    var canRetry: Bool?
}
