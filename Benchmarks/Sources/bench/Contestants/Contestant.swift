// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// A technology that sends messages between two processes.
///
/// To add a contestant, write a conforming type and add it to ``contestant(_:)``. Each side runs in its own process.
/// ``Setup`` contains everything that both sides must know in advance.
protocol Contestant: Sendable {
    /// Starts the server. Called once per process, on the main thread.
    ///
    /// The server responds until the process ends. It uses at most one event-loop thread.
    func serve(_ setup: Setup) throws -> any Server

    /// Prepares the caller for the server at ``Setup/address``. Called once per process.
    func caller(_ setup: Setup) async throws -> any Caller
}

/// The server of a contestant.
protocol Server: Sendable {
    /// The server's address, in a form that the contestant's ``Caller`` understands.
    var address: String { get }

    /// Other processes that do part of the work. Their memory counts as the server's. Defaults to none.
    var companions: [Int32] { get }
}

extension Server {
    var companions: [Int32] { [] }
}

/// The caller of a contestant. It opens connections.
protocol Caller: Sendable {
    /// Opens another connection. Returns once the first response, to 64 bytes, has arrived and is correct.
    func open() async throws -> any Line
}

/// An open connection of a caller.
protocol Line: Sendable {
    /// Keeps ``Load/inFlight`` messages in flight until the limit is reached, and returns their times.
    ///
    /// The time of a message begins when it may be sent and ends when its whole response has arrived. After the limit,
    /// no further messages are sent, but the outstanding responses are awaited.
    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement

    func close() async
}

/// The parameters of a worker process. It reads them from its standard input before it starts.
struct Setup: Codable, Sendable {
    /// Certificates for mutual TLS.
    var credentials: Credentials
    /// A private directory of this run, shared by both sides and removed afterwards.
    var directory: String
    /// The server's address; empty for a server.
    var address = ""
}

func contestant(_ name: ContestantName) -> any Contestant {
    switch name {
    case .rawTLS: RawTLS()
    case .rawTLSStreamed: RawTLS(form: .streamed)
    case .rawTLSFromPool: RawTLS(isFromPool: true)
    case .rawTLSArrays: RawTransfer(form: .parts)
    case .rawTLSFiles: RawTransfer(form: .file)
    case .grpcUnary: GRPCPeer(form: .unary)
    case .grpcStream: GRPCPeer(form: .stream)
    case .sdBus: SDBus()
    case .ours: Ours(form: .scoped)
    case .oursFromPool: Ours(form: .fromPool)
    case .oursStream: OursStream()
    }
}

/// A failure of the benchmark itself or of a contestant.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
