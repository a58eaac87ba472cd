// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

/// Streams beside the messages of an app service, on a stage.
@Suite(.timeLimit(.minutes(1))) struct AppServiceStreamTests {
    /// Offers a stream for each request, and passes the host's ends to the test.
    private final class Offering: Sendable {
        private let offers = Mutex<[RemoteSystemStreamOffer]>([])

        var service: AppService {
            AppService("test.photos") { request in
                let offer = try request.connection.offerStream()
                self.offers.withLock { $0.append(offer) }
                return ["Photo": offer.ticket]
            }
        }

        var last: RemoteSystemStreamOffer? { self.offers.withLock { $0.last } }
    }

    private static func with(
        _ body: (ConnectedPair, Offering) async throws -> Void
    ) async throws {
        let offering = Offering()
        try await DiscoveryStage.withConnectedPair(offering.service) { pair in try await body(pair, offering) }
    }

    private static func open(
        _ pair: ConnectedPair,
        _ offering: Offering
    ) async throws -> (host: RemoteSystemStream, caller: RemoteSystemStream) {
        let response = try await pair.client.send([:])
        let caller = try await pair.client.openStream(response.message["Photo"])
        let offer = try #require(offering.last)
        return (try await offer.opened(), caller)
    }

    private static func collect(_ stream: RemoteSystemStream) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in stream { bytes += chunk }
        return bytes
    }

    private static func error(_ body: () async throws -> Void) async -> RemoteSystemError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? RemoteSystemError
        }
    }

    @Test func `a service offers a stream in its response, the caller opens it, and bytes travel both ways`()
        async throws
    {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            #expect(caller.systemID == pair.host.id)
            try await host.write(Array("picture".utf8))
            try await host.finish()
            #expect(try await Self.collect(caller) == Array("picture".utf8))
            try await caller.write("nice".utf8)
            try await caller.finish()
            #expect(try await Self.collect(host) == Array("nice".utf8))
            try await host.waitUntilFinished()
            try await caller.waitUntilFinished()
            let error1 = await Self.error { try await caller.write([1]) }
            #expect(error1?.code == .misuse)
        }
    }

    @Test func `a stream outlives the connection that offered it`() async throws {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            await pair.client.close()
            try await host.write([1, 2])
            #expect(try await caller.read() == [1, 2])
        }
    }

    @Test func `a ticket opens one stream, within 30 seconds`() async throws {
        try await Self.with { pair, offering in
            let ticket = try await pair.client.send([:]).message["Photo"]
            let stream = try await pair.client.openStream(ticket)
            let used = await Self.error { _ = try await pair.client.openStream(ticket) }
            #expect(used?.code == .refused)
            #expect(used?.side == .remote)
            _ = stream
            let late = try await pair.client.send([:]).message["Photo"]
            let offer = try #require(offering.last)
            try await pair.stage.advance(by: .seconds(31))
            let error2 = await Self.error { _ = try await offer.opened() }
            #expect(error2?.code == .deadlineExceeded)
            let expired = await Self.error { _ = try await pair.client.openStream(late) }
            #expect(expired?.code == .refused)
            #expect(expired?.message == used?.message)
        }
    }

    @Test func `a withdrawn offer cannot be opened`() async throws {
        try await Self.with { pair, offering in
            let ticket = try await pair.client.send([:]).message["Photo"]
            offering.last?.withdraw()
            let error3 = await Self.error { _ = try await pair.client.openStream(ticket) }
            #expect(error3?.code == .refused)
        }
    }

    @Test func `an invalid ticket is refused before anything is sent`() async throws {
        try await Self.with { pair, _ in
            for value in [nil, "text", 7, .null] as [Value?] {
                let error4 = await Self.error { _ = try await pair.client.openStream(value) }
                #expect(error4?.code == .invalidArgument)
            }
        }
    }

    @Test func `the caller can open a stream that the host's end offers`() async throws {
        let errors = Mutex<[RemoteSystemError?]>([])
        let service = AppService("test.photos") { request in
            let error = await Self.error { _ = try await request.connection.openStream(.null) }
            errors.withLock { $0.append(error) }
            return [:]
        }
        try await DiscoveryStage.withConnectedPair(service) { pair in
            _ = try await pair.client.send([:])
            #expect(errors.withLock { $0.map { $0?.code } } == [.misuse])
            #expect(throws: RemoteSystemError.self) { try pair.client.offerStream() }
            let closed = AppServiceConnection(to: AppServiceDescription(name: "test.photos"))
            let error5 = await Self.error { _ = try await closed.openStream(.null) }
            #expect(error5?.code == .misuse)
        }
    }

    @Test func `an abort ends both sides, and the peer gets the reason`() async throws {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            caller.abort("Enough.")
            let hosts = await Self.error { _ = try await host.read() }
            #expect(hosts?.code == .streamAborted)
            #expect(hosts?.message == "Enough.")
            #expect(hosts?.side == .remote)
            let error6 = await Self.error { _ = try await caller.read() }
            #expect(error6?.code == .streamAborted)
        }
    }

    @Test func `a link that is cut truncates the stream`() async throws {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            try await host.write([1])
            #expect(try await caller.read() == [1])
            pair.link.cut()
            let error = await Self.error { _ = try await caller.read() }
            #expect(error?.code == .streamTruncated)
            #expect(error?.canRetry == true)
        }
    }

    @Test func `a reader that does not read blocks the writer with bounded memory, for minutes`()
        async throws
    {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            let written = Mutex(0)
            let writer = Task(executorPreference: pair.stage.taskExecutor) {
                for _ in 0..<64 {
                    try await host.write([UInt8](repeating: 1, count: 64 << 10))
                    written.withLock { $0 += 64 << 10 }
                }
                try await host.finish()
            }
            // Longer than the dead-peer timeout, and shorter than the limit for a peer that takes nothing.
            try await pair.stage.advance(by: .seconds(60))
            let held = written.withLock { $0 }
            #expect(held >= 256 << 10 && held <= 1 << 20, "\(held)")
            #expect(try await Self.collect(caller).count == 4 << 20)
            try await writer.value
        }
    }

    @Test func `a reader that takes nothing for five minutes is disconnected`() async throws {
        try await Self.with { pair, offering in
            let (host, caller) = try await Self.open(pair, offering)
            let writer = Task(executorPreference: pair.stage.taskExecutor) {
                while true { try await host.write([UInt8](repeating: 1, count: 64 << 10)) }
            }
            try await pair.stage.advance(by: .seconds(330))
            let error = await Self.error { try await writer.value }
            #expect(error?.code == .streamAborted)
            #expect(error?.message.contains("300") == true)
            _ = caller
        }
    }
}
