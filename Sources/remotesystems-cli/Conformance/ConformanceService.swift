// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization

/// The service of a conformance host.
///
/// It performs the action in a request's `Do`, so that a client can exercise every part of the protocol.
/// `Docs/implementing-the-protocol.md` lists the actions.
final class ConformanceService: AppServiceProvider {
    /// The limits of a conformance host: low, so that a client reaches them.
    struct Limits: Sendable {
        var messageBytes = 4096
        var window = 4
        var windowBytes = 8192
    }

    /// The action that a request asks the host to perform, with its name on the wire.
    enum Action: String {
        case echo, hold, fail, close, ask, ping, count, fill, measure
        case askAndCancel = "ask-and-cancel"

        /// The action that the message names. Defaults to `echo`.
        init(_ message: ValueSet) {
            self = message["Do"]?.string.flatMap { Action(rawValue: $0) } ?? .echo
        }
    }

    static let name = AppService.conformanceName
    static let pingToken: UInt64 = 4711
    /// The bytes of a ping frame: `[6, 4711]`.
    private static let ping: [UInt8] = [0x82, 0x06, 0x19, 0x12, 0x67]
    /// The bytes of a frame of an unknown kind: `[4712, "unknown"]`.
    private static let unknownFrame: [UInt8] = [0x82, 0x19, 0x12, 0x68, 0x67] + Array("unknown".utf8)
    /// Keys that no protocol version defines. Every accept contains them.
    static let unknownAcceptKeys: ValueSet = ["conformance": ["Unknown": true]]

    /// An error without a reason for the caller.
    private struct Failed: Error {}

    private let count = Mutex<Int64>(0)

    /// The service, to be offered by a host.
    static var service: AppService {
        AppService(
            Self.name,
            requestSchema: .full,
            responseSchema: .full,
            options: AppService.Options(summary: "Exercises every part of the protocol."),
            provider: ConformanceService()
        )
    }

    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
        connection.send(unchecked: Self.unknownFrame)
    }

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        let message = request.message
        switch Action(message) {
        case .echo: break
        // Longer than any request timeout: the caller cancels, or its request times out.
        case .hold: try await Task.sleep(for: .seconds(86_400))
        case .fail: throw Failed()
        case .close:
            let connection = request.connection
            Task { await connection.close() }
        case .ask:
            let question: ValueSet = message["Number"].map { ["Number": $0] } ?? [:]
            let response = try await request.connection.send(question)
            return [
                "Status": .integer(Int64(response.status.rawValue)), "Response": .dictionary(response.message),
            ]
        case .askAndCancel:
            _ = try await request.connection.send([:], timeout: .milliseconds(50))
        case .ping: request.connection.send(unchecked: Self.ping)
        case .count:
            let count = self.count.withLock { count in
                count += 1
                return count
            }
            return ["Count": .integer(count)]
        case .fill:
            let bytes = min(max(message["Bytes"]?.int ?? 0, 0), 1 << 20)
            return ["Data": .data(Data(count: bytes))]
        case .measure: return ["Bytes": .integer(Int64(message["Data"]?.data?.count ?? 0))]
        }
        return message
    }
}
