// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// One way of sending messages between two processes, seen from both sides.
///
/// To take part, conform in one file and add the conformance to ``contestant(_:)``. Each side lives in a process of its
/// own; everything that the two must agree on beforehand is in ``Setup``.
protocol Contestant: Sendable {
    /// Starts the answering side. Called once in a process, on its main thread.
    ///
    /// The server answers until the process ends. It uses one event-loop thread at most.
    func serve(_ setup: Setup) throws -> any Server

    /// Prepares the calling side for the server at ``Setup/address``; called once in a process.
    func caller(_ setup: Setup) async throws -> any Caller
}

/// The answering side of a contestant.
protocol Server: Sendable {
    /// Where callers find it, in whatever form the contestant's own ``Caller`` understands.
    var address: String { get }

    /// Other processes that do part of the work, whose memory counts as the server's; none unless it says otherwise.
    var companions: [Int32] { get }
}

extension Server {
    var companions: [Int32] { [] }
}

/// The calling side of a contestant: it opens connections.
protocol Caller: Sendable {
    /// Opens one more connection and returns once its first answer, to 64 bytes, has arrived and was found right.
    func open() async throws -> any Line
}

/// One open connection of the calling side.
protocol Line: Sendable {
    /// Keeps ``Load/inFlight`` messages under way until the limit is reached, and returns each one's time.
    ///
    /// A message's time begins when it may be sent and ends when its whole answer is there. No message is sent after
    /// the limit, but every message that was sent is waited for.
    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement

    func close() async
}

/// What a worker process must know before it starts; sent to it on its standard input.
struct Setup: Codable, Sendable {
    /// Certificates for mutual TLS.
    var credentials: Credentials
    /// A private directory of this run, the same for both sides, removed afterwards.
    var directory: String
    /// The server's address; empty for a server.
    var address = ""
}

func contestant(_ name: ContestantName) -> any Contestant {
    switch name {
    case .rawTLS: RawTLS(form: .wholeMessages)
    case .rawTLSStreamed: RawTLS(form: .streamed)
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
