// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import ValueSets

@testable import UserNotifications

/// A store in memory that remembers its state after every change, as a process finds it that crashed then.
final class StepStore: NotificationStore {
    private struct State {
        var records: [String: NotificationRecord] = [:]
        var steps: [[String: NotificationRecord]] = [[:]]
        var failure: NotificationError?
    }

    private let state: Mutex<State>

    init(_ records: [String: NotificationRecord] = [:]) { self.state = Mutex(State(records: records)) }

    var steps: [[String: NotificationRecord]] { self.state.withLock { $0.steps } }
    func fail(_ failure: NotificationError?) { self.state.withLock { $0.failure = failure } }

    func load() async throws(NotificationError) -> [NotificationRecord] {
        self.state.withLock { $0.records.values.sorted { ($0.date, $0.key) < ($1.date, $1.key) } }
            .filter { $0.kind != .history }
    }

    func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] {
        let all = self.state.withLock { $0.records.values.filter { $0.kind == .history } }
            .sorted { ($0.date, $0.key) > ($1.date, $1.key) }
        let start = key.flatMap { key in all.firstIndex { $0.key == key } }.map { $0 + 1 } ?? 0
        return Array(all.dropFirst(start).prefix(limit))
    }

    func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
        let failure = self.state.withLock { state -> NotificationError? in
            if let failure = state.failure { return failure }
            for change in changes {
                switch change {
                case .put(let record): state.records["\(record.kind) \(record.key)"] = record
                case .remove(let kind, let key): state.records["\(kind) \(key)"] = nil
                case .prune(let kind, let date, let count):
                    let all = state.records.values.filter { $0.kind == kind }
                        .sorted { ($0.date, $0.key) > ($1.date, $1.key) }
                    var places: [String: Int] = [:]
                    let shared = all.filter { $0.date >= date }.map { record in
                        places[record.source, default: 0] += 1
                        return (place: places[record.source, default: 0], record)
                    }
                    let kept = shared.sorted { ($0.place, $1.1.date) < ($1.place, $0.1.date) }.prefix(count).map(\.1)
                    for record in all where !kept.contains(record) { state.records["\(kind) \(record.key)"] = nil }
                }
            }
            state.steps.append(state.records)
            return nil
        }
        if let failure { throw failure }
    }
}

/// The receiver of a daemon, from its start to its crash.
struct StagedNotificationDaemon {
    static let sender = NotificationSender(
        systemID: "jsjqu7yldsnklavjmczneorxlydywsygvdgpupfm6nhal3pznwua",
        application: "calendar"
    )

    static func message(_ identifier: String, after seconds: Int, repeats: Bool = false) -> ValueSet {
        var notification = RemoteNotification(
            NotificationRequest(
                identifier: identifier,
                content: NotificationContent(title: identifier, categoryIdentifier: "c"),
                trigger: .timeInterval(.seconds(seconds), repeats: repeats)
            ),
            category: NotificationCategory(
                identifier: "c",
                actions: [NotificationAction(identifier: "yes", title: "Yes")]
            )
        )
        notification.applicationName = "Calendar"
        return NotificationMessage.schedule(notification)
    }

    let receiver: NotificationReceiver
    let screen = StagedNotificationPresenter()
    private let running: Task<Void, any Error>

    init(_ stage: DiscoveryStage, _ store: StepStore, _ location: (any LocationSource)? = nil) async throws {
        self.receiver = NotificationReceiver(
            stage.configuration,
            presenter: self.screen,
            store: store,
            locationSource: location
        ) { _ in nil }
        await self.receiver.restore(try await store.load())
        self.running = Task(executorPreference: stage.clock.taskExecutor) { [receiver] in try await receiver.run() }
    }

    /// Delivers a notification, and returns when it is shown.
    ///
    /// - Returns: its key.
    func show(_ identifier: String, _ stage: DiscoveryStage) async throws -> String {
        _ = try await self.receiver.schedule(Self.message(identifier, after: 1), by: Self.sender)
        try await stage.clock.advance(by: .seconds(2))
        try await stage.eventually("\(identifier) is shown") {
            self.screen.shown.contains { $0.content.title == identifier }
        }
        return self.screen.shown.last?.identifier ?? ""
    }

    /// Ends without closing anything.
    func crash() { self.running.cancel() }
}
