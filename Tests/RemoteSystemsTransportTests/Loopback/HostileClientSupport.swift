// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

extension LoopbackHost {
    /// Whether a new client is served.
    func isServing() async throws -> Bool {
        do {
            let connection = try await self.connect()
            defer { connection.abort() }
            return try await connection.send(["a": 1], timeout: .seconds(20)).status == .success
        } catch let error as TransportError where error.code == .unreachable {
            return false
        }
    }
}

extension RawPeer {
    /// The host's refusal, before it closes the connection.
    func refusal() async throws -> Refusal? {
        guard case .refuse(let status, let failure)? = try await self.nextFrame() else { return nil }
        #expect(!failure.text.isEmpty)
        try await self.waitUntilClosed()
        return Refusal(status, failure.text, canRetry: failure.canRetry)
    }

    /// The status with which the host closes.
    func closeStatus() async throws -> CloseStatus? {
        guard case .close(let status, let failure)? = try await self.remainingFrames().last else { return nil }
        #expect(failure?.text.isEmpty == false)
        return status
    }
}

extension ByteBuffer {
    /// Writes any array as a frame.
    mutating func writeTestFrame(_ elements: [Value]) throws {
        let bytes = try Value.array(elements).encoded()
        self.writeInteger(UInt32(bytes.count))
        self.writeBytes(bytes)
    }
}
