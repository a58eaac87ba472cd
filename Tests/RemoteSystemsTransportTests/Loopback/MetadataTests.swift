// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Metadata over real TLS, from peers that keep the rules and from one that does not.
@Suite struct MetadataTests {
    @Test func `a handler gets a request's metadata, and none if none was sent`() async throws {
        try await LoopbackHost.with { request, _ in
            Response(message: ["metadata": .dictionary(request.metadata), "key": .bool(request.key != nil)])
        } _: { host in
            let connection = try await host.connect()
            let metadata: ValueSet = ["request-id": "4711", "traceparent": "00-\u{e9}"]
            for key in [nil, [1]] as [[UInt8]?] {
                let response = try await connection.send([:], timeout: .seconds(20), key: key, metadata: metadata)
                #expect(response.message == ["metadata": .dictionary(metadata), "key": .bool(key != nil)])
            }
            let plain = try await connection.send([:], timeout: .seconds(20))
            #expect(plain.message == ["metadata": [:], "key": false])
            await connection.close()
        }
    }

    @Test(
        arguments: [
            ["A": "b"], ["a\u{1B}": "b"], ["a": "b\r\nc"], ["a": 1],
            ["traceparent": .string(String(repeating: "0", count: 100_000))],
            ValueSet((0..<10_000).map { ("key-\($0)", Value.string("")) }),
        ] as [ValueSet]
    )
    func `a request with invalid metadata gets a failure, is not handled, and the connection continues`(
        metadata: ValueSet
    ) async throws {
        try await LoopbackHost.with { request, _ in
            #expect(request.metadata.isEmpty)
            return Response(message: request.message)
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 10_000, message: ["a": 1], metadata: metadata))
            var frame = try await peer.nextFrame()
            // On a busy machine the host may send a keep-alive ping.
            while case .ping = frame { frame = try await peer.nextFrame() }
            guard case .response(1, .failure, [:], let failure?) = frame else {
                Issue.record("This came: \(String(describing: frame))")
                return
            }
            #expect(failure.text.contains("metadata"))
            #expect(!failure.text.hasControlCharacters)
            #expect(!failure.canRetry)
            try peer.send(.request(id: 2, timeoutMilliseconds: 10_000, message: ["a": 1]))
            #expect(try await peer.nextFrame() == .response(id: 2, status: .success, message: ["a": 1], failure: nil))
        }
    }
}
