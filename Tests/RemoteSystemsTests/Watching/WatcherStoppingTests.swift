// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTesting
import Testing

@testable import RemoteSystems

/// a watcher runs in the background until it is not needed. The end of the event sequence stops it, too.
@Suite struct WatcherStoppingTests {
    enum Ending: CaseIterable { case leavesLoop, returns, throwsError, isCancelled, iteratorGone }

    private struct Enough: Error {}

    /// Reads until a system is added, and ends the sequence in the given way.
    private static func read(_ events: RemoteSystemEvents, _ ending: Ending) async throws {
        switch ending {
        case .leavesLoop:
            for await case .added in events { break }
        case .returns:
            for await case .added in events { return }
        case .throwsError:
            for await case .added in events { throw Enough() }
        case .isCancelled:
            let reader = Task {
                for await case .added in events { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
            await reader.value
        case .iteratorGone:
            var iterator = events.makeAsyncIterator()
            while case .enumerationCompleted? = await iterator.next() {}
        }
    }

    /// A running watcher on a stage with one system.
    private static func with(
        _ options: RemoteSystemWatcher.Options = RemoteSystemWatcher.Options(),
        _ body: (DiscoveryStage, RemoteSystemWatcher) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            try await stage.appears(try stage.system("Box"))
            let watcher = stage.watcher(options: options)
            try await watcher.start()
            try await stage.settle()
            #expect(watcher.systems.count == 1)
            try await body(stage, watcher)
            await watcher.stop()
        }
    }

    @Test(arguments: Ending.allCases) func `a watcher stops when its only sequence ends (R-12)`(_ ending: Ending)
        async throws
    {
        try await Self.with { stage, watcher in
            // Still referenced, as in most programs. What counts is that no iterator reads it any more.
            let events = watcher.events
            try? await Self.read(events, ending)
            #expect(watcher.systems.isEmpty)
            try await stage.eventually("it has stopped") { !watcher.isRunning }
            withExtendedLifetime(events) {}
        }
    }

    @Test func `a host has no connection of a watcher whose sequence has ended (R-12)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { host in
                let watcher = loopbackSystem.watcher()
                try await watcher.start()
                for await case .added in watcher.events {
                    #expect(host.openConnections == 1)
                    break
                }
                try await until { host.openConnections == 0 }
                #expect(watcher.systems.isEmpty)
            }
        }
    }

    @Test func `a watcher continues while another sequence is read, or waits to be read (R-12)`() async throws {
        try await Self.with { stage, watcher in
            let unread = watcher.events
            try await Self.read(watcher.events, .leavesLoop)
            try await stage.settle()
            #expect(watcher.isRunning && watcher.systems.count == 1)
            try await Self.read(unread, .leavesLoop)
            try await stage.eventually("it has stopped") { !watcher.isRunning }
        }
        try await Self.with { stage, watcher in
            var unread: RemoteSystemEvents? = watcher.events
            try await Self.read(watcher.events, .leavesLoop)
            try await stage.settle()
            #expect(watcher.isRunning && unread != nil)
            unread = nil
            try await stage.eventually("it has stopped") { !watcher.isRunning }
        }
    }

    @Test func `a watcher continues while a listener is registered, and then ends only by stop (R-12)`() async throws {
        try await Self.with { stage, watcher in
            let listener = watcher.onRemoved { _ in }
            try await Self.read(watcher.events, .leavesLoop)
            try await stage.settle()
            #expect(watcher.isRunning && watcher.systems.count == 1)
            listener.cancel()
            try await stage.settle()
            #expect(watcher.isRunning)
        }
    }

    @Test func `releasing an unread sequence does not stop the watcher (R-12)`()
        async throws
    {
        try await Self.with { stage, watcher in
            _ = watcher.events
            try await stage.settle()
            #expect(watcher.isRunning && watcher.systems.count == 1)
        }
    }

    @Test func `a watcher with a listener continues after its last sequence (R-12)`() async throws {
        var options = RemoteSystemWatcher.Options()
        options.stopsWithLastSequence = false
        try await Self.with(options) { stage, watcher in
            try await Self.read(watcher.events, .leavesLoop)
            try await stage.settle()
            #expect(watcher.isRunning && watcher.systems.count == 1)
        }
    }

    @Test func `a watcher that is stopping by itself can be restarted at once, and reports every system again (R-12)`()
        async throws
    {
        try await Self.with { _, watcher in
            for _ in 0..<3 {
                try await Self.read(watcher.events, .leavesLoop)
                let events = watcher.events
                try await watcher.start()
                try await Self.read(events, .iteratorGone)
                try await watcher.start()
            }
        }
    }

    @Test func `the end of a sequence of an earlier run does not stop a later one (R-12)`() async throws {
        try await Self.with { stage, watcher in
            var iterator: RemoteSystemEvents.Iterator? = watcher.events.makeAsyncIterator()
            _ = await iterator?.next()
            await watcher.stop()
            try await watcher.start()
            iterator = nil
            try await stage.settle()
            #expect(watcher.isRunning && watcher.systems.count == 1 && iterator == nil)
        }
    }

    @Test func `a sequence is read once; a second iterator replaces the first (R-12)`() async throws {
        try await Self.with { stage, watcher in
            let events = watcher.events
            var first = events.makeAsyncIterator()
            guard case .added? = await first.next() else {
                _ = Issue.record("nothing was added")
                return
            }
            var second = events.makeAsyncIterator()
            guard case .enumerationCompleted? = await second.next() else {
                _ = Issue.record("nothing was completed")
                return
            }
            #expect(watcher.isRunning)
            try await stage.settle()
        }
    }
}
