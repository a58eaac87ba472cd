// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// What is kept, and what is not, when the store fails and when the user changes a permission.
@Suite struct NotificationStoreFailureTests {
    private typealias Daemon = StagedNotificationDaemon

    @Test func `an answer that could not be stored is stored when the disk has room again`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let key = try await first.show("tea", stage)
            store.fail(NotificationError(.storeFailed, "The disk is full."))
            try await first.receiver.respond(key, "yes", text: nil)
            store.fail(nil)
            try await stage.clock.advance(by: .seconds(61))
            try await stage.eventually("it is stored") { await !first.receiver.unsaved.hasFailed }
            first.crash()
            let second = try await Daemon(stage, store)
            #expect(await second.receiver.list().isEmpty)
            #expect(await second.receiver.routing.responses(for: Daemon.sender).map(\.requestIdentifier) == ["tea"])
            second.crash()
        }
    }

    @Test func `what was scheduled again after a failure is not removed by the late repair`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Daemon.message("tea", after: 1), by: Daemon.sender)
            store.fail(NotificationError(.storeFailed, "The disk is full."))
            // Delivered, but its removal from the store fails.
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("the removal has failed") { await first.receiver.unsaved.hasFailed }
            store.fail(nil)
            _ = try await first.receiver.schedule(Daemon.message("tea", after: 3600), by: Daemon.sender)
            try await stage.clock.advance(by: .seconds(61))
            first.crash()
            let second = try await Daemon(stage, store)
            #expect(await second.receiver.pending.all.map(\.key.identifier) == ["tea"])
            second.crash()
        }
    }

    @Test func `a notification whose banner had ended is not shown again after a restart, and stays in the list`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let ended = try await first.show("ended", stage)
            let open = try await first.show("open", stage)
            first.screen.end(ended, .expired)
            try await stage.eventually("it has ended") { await first.receiver.received[ended]?.isOver == true }
            first.crash()
            let second = try await Daemon(stage, store)
            try await stage.eventually("the other one is shown") {
                second.screen.shown.map(\.identifier) == [open]
            }
            #expect(await second.receiver.list().map(\.key) == [ended, open])
            second.crash()
        }
    }

    @Test func `no key is used again after a restart`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let key = try await first.show("one", stage)
            try await first.receiver.respond(key, "yes", text: nil)
            first.crash()
            let second = try await Daemon(stage, store)
            #expect(try await second.show("two", stage) != key)
            second.crash()
        }
    }

    @Test func `a denial closes what its sender has shown, and drops the responses that wait for it`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            let answered = try await daemon.show("answered", stage)
            try await daemon.receiver.respond(answered, "yes", text: nil)
            _ = try await daemon.show("open", stage)
            try await daemon.receiver.set(.denied, for: .init(application: "other"))
            #expect(daemon.screen.shown.count == 1)
            try await daemon.receiver.set(.denied, for: .init(system: Daemon.sender.systemID))
            #expect(daemon.screen.shown.isEmpty)
            #expect(await daemon.receiver.list().isEmpty)
            #expect(await daemon.receiver.routing.responses(for: Daemon.sender).isEmpty)
            let kinds = Set(try await store.load().map(\.kind))
            #expect(kinds == [.permission, .counter])
            daemon.crash()
        }
    }

    @Test func `a receiver that has ended is released, and stores nothing more`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            weak var receiver: NotificationReceiver?
            do {
                let daemon = try await Daemon(stage, store)
                let key = try await daemon.show("tea", stage)
                store.fail(NotificationError(.storeFailed, "The disk is full."))
                try await daemon.receiver.respond(key, "yes", text: nil)
                receiver = daemon.receiver
                daemon.crash()
            }
            try await stage.clock.advance(by: .seconds(1))
            try await stage.eventually("it is released") { receiver == nil }
            store.fail(nil)
            let steps = store.steps.count
            try await stage.clock.advance(by: .seconds(120))
            #expect(store.steps.count == steps)
        }
    }

    @Test func `a damaged permission denies, because the user had restricted the sender`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            var record = try NotificationRecord(.silent, for: .init(system: "s", application: "my app"), at: .now)
            record.body = [0xFF]
            try await store.commit([.put(record)])
            let daemon = try await Daemon(stage, store)
            let permissions = await daemon.receiver.permissions
            #expect(permissions.permission(of: .init(systemID: "s", application: "my app")) == .denied)
            #expect(permissions.permission(of: .init(systemID: "s", application: "other")) == .allowed)
            daemon.crash()
        }
    }

    @Test func `without a store everything is shown silently, because what was denied is not known`() async throws {
        let store = UnavailableNotificationStore(NotificationError(.storeFailed, "The disk is broken."))
        var permissions = NotificationPermissions()
        for record in try await store.load() {
            let (permission, subject) = try record.permission()
            try permissions.set(permission, for: subject)
        }
        #expect(permissions.permission(of: StagedNotificationDaemon.sender) == .silent)
    }

    @Test func `without a store, what the user permits counts until the daemon ends`() async throws {
        try await DiscoveryStage.with { stage in
            let store = UnavailableNotificationStore(NotificationError(.storeFailed, "The disk is broken."))
            let receiver = NotificationReceiver(stage.configuration, presenter: nil, store: store) { _ in nil }
            await receiver.restore(try await store.load())
            try await receiver.set(.allowed, for: .init(system: nil, application: nil))
            try await receiver.set(.denied, for: .init(application: "other"))
            let permissions = await receiver.permissions
            #expect(permissions.permission(of: Daemon.sender) == .allowed)
            #expect(permissions.permission(of: .init(systemID: "s", application: "other")) == .denied)
        }
    }
}
