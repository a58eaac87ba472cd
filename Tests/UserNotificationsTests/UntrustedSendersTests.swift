// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// What stays here of systems that the account does not trust any more.
@Suite struct UntrustedSendersTests {
    private static func end(of system: SystemID, _ stage: DiscoveryStage) -> (key: NotificationState.Key, ValueSet) {
        let key = NotificationState.Key(systemID: "\(system)", deliveryID: UUID())
        return (key, NotificationState(status: .dismissed, date: stage.clock.date).valueSet)
    }

    @Test func `notifications, responses, badges and states of a revoked system are removed, and no others`()
        async throws
    {
        let store = StepStore()
        try await ReceivingSystem.with(store: store) { receiving in
            let (receiver, stage) = (receiving.receiver, receiving.stage)
            let connection = try await receiving.connect()
            var question = ReceivingSystem.question()
            question.request.content.badge = 3
            question.targetApplicationID = "mail"
            #expect(try await connection.deliver(question).status == .shown)
            _ = try await connection.deliver(ReceivingSystem.question("answered"))
            await connection.close()
            let listed = await receiver.list()
            let (sender, answered) = (try #require(listed.first?.sender), try #require(listed.last?.key))
            receiving.screen.choose("yes", on: answered)
            try await stage.eventually("the response waits") {
                await receiver.routing.responses(for: sender).count == 1
            }
            let revoked = try #require(SystemID(sender.systemID))
            let other = try stage.system("Other").id
            let (first, second) = (Self.end(of: other, stage), Self.end(of: other, stage))
            await receiver.merge([first.key.text: first.1], from: revoked)
            await receiver.merge([second.key.text: second.1], from: other)
            let local = StagedNotificationDaemon.message("tea", after: 1)
            _ = try await receiver.schedule(local, by: StagedNotificationDaemon.sender)
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("tea is shown") { receiving.screen.shown.count == 2 }

            // Another change of the account removes nothing.
            receiver.feature.accountChanged()
            try await stage.clock.advance(by: .seconds(1))
            #expect(await receiver.list().count == 2)
            #expect(receiving.screen.badges == ["mail": 3])

            await receiver.setTrust { system, _ in system != revoked }
            receiver.feature.accountChanged()
            try await stage.eventually("everything of the system is gone") {
                let kinds = (store.steps.last ?? [:]).values.map(\.kind)
                return !kinds.contains(.response) && !kinds.contains(.badge) && receiving.screen.shown.count == 1
            }
            #expect(await receiver.list().map(\.notification.request.identifier) == ["tea"])
            #expect(receiving.screen.badges == [:])
            #expect(await receiver.routing.responses(for: sender).isEmpty)
            let states = await receiver.states
            #expect(states[.end(first.key)] == nil && states[.end(second.key)] != nil)
            // The end of its own notification concerns nothing that can come again.
            #expect(!states.all.keys.contains { $0.ended?.systemID == sender.systemID })
        }
    }

    @Test func `what a system has sent that was revoked while no process ran is not shown again`() async throws {
        let store = StepStore()
        try await ReceivingSystem.with(store: store) { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(ReceivingSystem.question())
            await connection.close()
        }
        try await DiscoveryStage.with { stage in
            let screen = StagedNotificationPresenter()
            let receiver = NotificationReceiver(stage.configuration, presenter: screen, store: store) { _ in nil }
            await receiver.restore(try await store.load())
            let listed = await receiver.list()
            let revoked = try #require(listed.first.flatMap { SystemID($0.sender.systemID) })
            await receiver.setTrust { system, _ in system != revoked }
            let running = Task(executorPreference: stage.taskExecutor) { try await receiver.run() }
            try await stage.eventually("it is gone") { await receiver.list().isEmpty }
            try await stage.clock.advance(by: .seconds(1))
            #expect(screen.history.isEmpty)
            running.cancel()
        }
    }

    @Test func `what waits for a revoked system is removed, also if no process ran then, and nothing more is accepted`()
        async throws
    {
        let store = StepStore()
        var systems: [SystemID] = []
        try await ReceivingSystem.with(store: store) { receiving in
            let (receiver, stage) = (receiving.receiver, receiving.stage)
            systems = try ["Lost", "Later", "Attic"].map { try stage.system($0).id }
            let post = { (identifier: String, targets: [SystemID]) async throws in
                let message = NotificationMessage.post(
                    ReceivingSystem.question(identifier),
                    to: targets.map { "\($0)" }
                )
                try await receiver.post(message, by: StagedNotificationDaemon.sender)
            }
            try await post("q", systems)
            let lost = systems[0]
            await receiver.setTrust { system, _ in system != lost }
            receiver.feature.accountChanged()
            try await stage.eventually("it waits for the others only") {
                await Set(receiver.outbox.all.map(\.key.system)) == Set(systems.dropFirst().map { "\($0)" })
                    && store.steps.last?.values.count { $0.kind == .outbox } == 2
            }
            let error = await #expect(throws: NotificationError.self) { try await post("more", systems) }
            #expect(error?.code == .invalidContent && error?.message.contains(lost.short) == true)
            #expect(await receiver.outbox.all.count == 2)
        }
        let (later, attic) = (systems[1], systems[2])
        try await DiscoveryStage.with { stage in
            let receiver = NotificationReceiver(stage.configuration, presenter: nil, store: store) { _ in nil }
            await receiver.restore(try await store.load())
            #expect(await receiver.outbox.all.count == 2)
            await receiver.setTrust { system, _ in system != later }
            let running = Task(executorPreference: stage.taskExecutor) { try await receiver.run() }
            try await stage.eventually("it waits for the attic only") {
                await receiver.outbox.all.map(\.key.system) == ["\(attic)"]
                    && store.steps.last?.values.count { $0.kind == .outbox } == 1
            }
            running.cancel()
        }
    }

    @Test func `what systems of a linked account have sent is removed when the link is withdrawn`() async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(services: [RemoteNotificationConnection.service]))
            let desk = try await StagedDesk.appearing("Kitchen", account: .linked, on: stage)
            let watcher = stage.watcher(filters: [.authorizationKind(.linked)])
            try await watcher.start()
            try await stage.eventually("the kitchen is listed") { watcher.systems.first?.applications.first != nil }
            let application = try #require(watcher.systems.first?.applications.first)
            let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(application: application))
            try await connection.open()
            #expect(try await connection.deliver(ReceivingSystem.question()).status == .shown)
            let receiver = try desk.daemon.receiver
            #expect(await receiver.list().first?.sender.kind == .linkedAccount)
            receiver.feature.accountChanged()
            try await stage.clock.advance(by: .seconds(1))
            #expect(try desk.titles == ["Deploy?"])
            stage.unlink()
            receiver.feature.accountChanged()
            try await stage.eventually("it is gone") {
                let list = await receiver.list()
                return try list.isEmpty && desk.titles.isEmpty
            }
            await connection.close()
            await watcher.stop()
            try desk.daemon.running.cancel()
        }
    }
}
