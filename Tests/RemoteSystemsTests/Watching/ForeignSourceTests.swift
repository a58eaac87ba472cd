// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTesting
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// A discovery source of another package, whose declarations determine how its hints are used.
@Suite struct ForeignSourceTests {
    private final class Source: DiscoverySource {
        let origin: DiscoveryOrigin
        let discoveryType: DiscoveryType
        private let hint: DiscoveryHint
        private let relevance = Mutex<(@Sendable (DiscoveryHint) -> Bool)?>(nil)

        init(_ hint: DiscoveryHint, origin: DiscoveryOrigin, type: DiscoveryType) {
            self.hint = hint
            self.origin = origin
            self.discoveryType = type
        }

        var name: String { "foreign" }

        /// Whether the active browse follows an instance; `nil` if it follows all.
        func follows(_ hint: DiscoveryHint) -> Bool? { self.relevance.withLock { $0 }.map { $0(hint) } }

        func browse() -> DiscoveryEvents {
            let (events, feed) = DiscoveryEvents.makeStream()
            feed.yield(.appeared(self.hint))
            feed.yield(.settled)
            return events
        }

        func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents {
            self.relevance.withLock { $0 = isRelevant }
            return self.browse()
        }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}
    }

    private static func hint(port: Int, properties: [String: [UInt8]] = [:]) -> DiscoveryHint {
        DiscoveryHint(
            id: "somewhere",
            instance: "somewhere",
            endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: port)],
            properties: properties
        )
    }

    @Test(arguments: [(DiscoveryType.proximal, RemoteSystemDiscoveryType.proximal), (.cloud, .cloud)])
    func `a configured hint needs no tag, and its source declares the discovery type`(
        type: DiscoveryType,
        listed: RemoteSystemDiscoveryType
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { host in
                var configuration = loopbackSystem.configuration("test.watcher")
                let hint = Self.hint(port: try await host.port)
                configuration.discovery.sources = [Source(hint, origin: .configured, type: type)]
                let watcher = RemoteSystemWatcher(configuration)
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                #expect(try await recorder.added().discoveryType == listed)
                await watcher.stop()
            }
        }
    }

    @Test func `an advertised hint without the account's tag is ignored, and is not followed`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { host in
                var configuration = loopbackSystem.configuration("test.watcher")
                let hint = Self.hint(
                    port: try await host.port,
                    properties: [Presence.versionProperty: Array(Presence.version.utf8)]
                )
                let source = Source(hint, origin: .announced, type: .proximal)
                configuration.discovery.sources = [source]
                let watcher = RemoteSystemWatcher(configuration)
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                try await recorder.first { if case .enumerationCompleted = $0 { () } else { nil } }
                try await until { await watcher.unlisted.otherAccounts == 1 }
                #expect(watcher.systems.isEmpty)
                #expect(source.follows(hint) == false)
                var ours = hint
                let identity = try AccountStore(directory: loopbackSystem.directory).identity()
                ours.properties[Presence.tagProperty] = identity.discoveryKey.discoveryTag(instance: hint.instance)
                #expect(source.follows(ours) == true)
                await watcher.stop()
            }
        }
    }

    /// Like an Avahi source, which is named after the server that it uses now.
    private final class RenamedSource: DiscoverySource {
        let segment = ScriptedDiscovery()
        let current = Mutex("before")

        var name: String { self.current.withLock { $0 } }

        func browse() -> DiscoveryEvents { self.segment.browse() }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}
    }

    @Test func `an advertisement that a source withdraws after its name has changed is forgotten`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var configuration = loopbackSystem.configuration("test.watcher")
            let source = RenamedSource()
            configuration.discovery.sources = [source]
            let hint = Self.hint(port: 1, properties: [Presence.versionProperty: Array(Presence.version.utf8)])
            source.segment.appear(hint)
            let watcher = RemoteSystemWatcher(configuration)
            try await watcher.start()
            try await until { await watcher.unlisted.otherAccounts == 1 }
            source.current.withLock { $0 = "after" }
            source.segment.vanish(hint.id)
            try await until { await watcher.unlisted.otherAccounts == 0 }
            await watcher.stop()
        }
    }

    // MARK: Its endpoints

    @Test(
        arguments: [
            (.announced, .proximal, true, .account), (.announced, .cloud, true, .account),
            // The configuration does not state the system's account.
            (.configured, .cloud, true, .unrestricted), (.announced, .proximal, false, .unrestricted),
        ] as [(DiscoveryOrigin, DiscoveryType, Bool, Endpoint.Trust)]
    )
    func `an endpoint has its source's discovery type, and requires the account if the hint has its tag`(
        origin: DiscoveryOrigin,
        type: DiscoveryType,
        isOurs: Bool,
        trust: Endpoint.Trust
    ) {
        let source = Source(Self.hint(port: 1), origin: origin, type: type)
        let discovered = DiscoveryEndpoint(address: "7f3a", port: 0, transport: "relay")
        let endpoint = Endpoint(discovered, by: source, isOurs: isOurs)
        #expect(endpoint == Endpoint(transport: TransportKind(rawValue: "relay"), host: "7f3a", port: 0))
        #expect(endpoint.discoveryType == (type == .cloud ? .cloud : .proximal))
        #expect(endpoint.trust == trust)
        #expect(RemoteSystemDiscoveryType([endpoint]) == (type == .cloud ? .cloud : .proximal))
    }

    @Test(
        arguments: [
            (nil, nil), (.seconds(20), .seconds(20)), (.zero, .milliseconds(1)), (.seconds(-1), .milliseconds(1)),
            (.seconds(86_400), .seconds(600)),
        ] as [(Duration?, TimeAmount?)]
    )
    func `an endpoint's own timeout is limited`(time: Duration?, expected: TimeAmount?) {
        let source = Source(Self.hint(port: 1), origin: .announced, type: .proximal)
        let discovered = DiscoveryEndpoint(address: "192.0.2.1", port: 1, connectTimeout: time)
        #expect(Endpoint(discovered, by: source, isOurs: true).connectTimeout == expected)
    }
}
