// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

@Suite struct DiscoveryStageTests {
    static let echo = AppService("echo") { ["echo": .dictionary($0.message)] }

    @Test func `a system that appears is added when the call returns, with its name, kind and services (R-10)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let tablet = try stage.system("Tablet", kind: .tablet, attributes: ["room": "attic"], services: [Self.echo])
            try await stage.appears(tablet)
            #expect(recorder.story == ["enumeration completed", "added Tablet"])
            let system = try await recorder.added("Tablet")
            #expect(system.id == tablet.id)
            #expect(system.kind == .tablet)
            #expect(!system.isLocal)
            let application = try #require(system.application("test.host"))
            #expect(application.attributes == ["room": "attic"])
            #expect(application.services.map(\.name) == ["echo"])
        }
    }

    @Test func `a stage is released after its end, also if the code of its systems refers to it`() async throws {
        weak var ended: DiscoveryStage?
        try await DiscoveryStage.with { stage in
            let clock = AppService("clock") { _ in ["date": .date(stage.clock.date)] }
            try await stage.appears(try stage.system("Clock", services: [clock]))
            ended = stage
        }
        // The last tasks of the stage end on other threads.
        for _ in 0..<1000 where ended != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(ended == nil)
    }

    @Test func `a change is reported as an update (R-10)`() async throws {
        try await DiscoveryStage.with { stage in
            let (_, recorder, speaker) = try await Self.watchedSpeaker(on: stage)
            try await stage.changes(speaker, attributes: ["playing": "yes"])
            let updated = try await recorder.updated("Speaker")
            #expect(updated.application("test.host")?.attributes == ["playing": "yes"])
        }
    }

    @Test func `a system that leaves is removed at once, and one whose process crashes within a second`()
        async throws
    {
        for departure in [StagedSystem.Departure.orderly, .crash] {
            try await DiscoveryStage.with { stage in
                let (_, recorder, speaker) = try await Self.watchedSpeaker(on: stage)
                try await stage.vanishes(speaker, departure)
                try await stage.advance(by: .seconds(1))
                #expect(recorder.story.last == "removed Speaker")
            }
        }
    }

    @Test func `a silent system is removed after the silence timeout and before 15 s, not earlier (R-10)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (_, recorder, speaker) = try await Self.watchedSpeaker(on: stage)
            try await stage.advance(by: .seconds(60))
            try await stage.vanishes(speaker, .silent)
            try await stage.advance(by: .seconds(11))
            #expect(recorder.story.last == "added Speaker")
            try await stage.advance(by: .seconds(4))
            #expect(recorder.story.last == "removed Speaker")
        }
    }

    @Test(arguments: [StagedSystem.Departure.orderly, .crash, .silent])
    func `a system that returns is added again`(after departure: StagedSystem.Departure) async throws {
        try await DiscoveryStage.with { stage in
            let (_, recorder, speaker) = try await Self.watchedSpeaker(on: stage)
            try await stage.vanishes(speaker, departure)
            try await stage.advance(by: .seconds(15))
            try await recorder.removed("Speaker")
            try await stage.appears(speaker)
            let again = try await recorder.added("Speaker")
            #expect(again.id == speaker.id)
        }
    }

    @Test func `a scripted event happens exactly at its time`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let speaker = try stage.system("Speaker", services: [Self.echo])
            try await stage.appears(speaker, after: .seconds(2))
            try await stage.vanishes(speaker, after: .seconds(5))
            try await stage.advance(by: .milliseconds(1999))
            #expect(recorder.story == ["enumeration completed"])
            try await stage.advance(by: .milliseconds(1))
            #expect(recorder.story.last == "added Speaker")
            try await stage.advance(by: .seconds(3))
            #expect(recorder.story.last == "removed Speaker")
        }
    }

    @Test func `a discovery problem is reported to watchers as error 16, also to later ones (X-32)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            try await stage.fails(with: .daemonUnavailable)
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let error = try await recorder.error()
            #expect(error.code == .discoveryHampered)
            #expect(error.code.rawValue == 16)
        }
    }

    @Test
    func `an impostor of the account is reported as error 2, and not added (X-32)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let stranger = try stage.system(
                "Stranger",
                account: .impostor
            )
            try await stage.appears(stranger)
            let error = try await recorder.error()
            #expect(error.code == .authenticationError)
            #expect(error.code.rawValue == 2)
            // It names the system: a person has several.
            #expect(error.message.hasPrefix("The system at "), "\(error.message)")
            #expect(watcher.systems.isEmpty)
        }
    }

    @Test func `two applications of one machine are one system`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            try await watcher.start()
            let box = try stage.system(
                "Box",
                applications: [StagedApplication("test.one", services: [Self.echo]), StagedApplication("test.two")]
            )
            try await stage.appears(box)
            #expect(watcher.systems.count == 1)
            #expect(watcher.systems.first?.applications.map(\.id) == ["test.one", "test.two"])
        }
    }

    @Test func `an expected event that does not occur fails with the events that did`() async throws {
        try await DiscoveryStage.with(patience: .milliseconds(20)) { stage in
            let recorder = stage.record(stage.watcher())
            let error = await #expect(throws: StageError.self) { try await recorder.added("Ghost") }
            #expect(error?.message.contains("'added Ghost'") == true)
            let other = await #expect(throws: StageError.self) {
                try await stage.eventually("the sun rises") { false }
            }
            #expect(other?.message.contains("the sun rises") == true)
        }
    }

    /// A watcher that has reported a speaker.
    static func watchedSpeaker(
        on stage: DiscoveryStage
    ) async throws -> (RemoteSystemWatcher, EventRecorder, StagedSystem) {
        let watcher = stage.watcher()
        let recorder = stage.record(watcher)
        try await watcher.start()
        let speaker = try stage.system("Speaker", services: [Self.echo])
        try await stage.appears(speaker)
        try await recorder.added("Speaker")
        return (watcher, recorder, speaker)
    }
}
