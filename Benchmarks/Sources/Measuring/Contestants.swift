// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names of the contestants.
package enum ContestantName: String, Codable, CaseIterable, Sendable {
    /// SwiftNIO and TLS 1.3 with channel handlers only. A message counts once it has returned completely.
    case rawTLS = "raw-tls"
    /// The same, but bytes are returned or discarded as they arrive.
    case rawTLSStreamed = "raw-tls-streamed"
    /// The same as `raw-tls`, but sent by tasks of Swift's thread pool, each of which awaits its response.
    case rawTLSFromPool = "raw-tls-from-pool"
    /// TLS with tasks of Swift's thread pool that write and read arrays of bytes.
    case rawTLSArrays = "raw-tls-arrays"
    /// The same, but the bytes come from a file, and the receiver stores them.
    case rawTLSFiles = "raw-tls-files"
    /// gRPC Swift 2 over mutual TLS, one call per message.
    case grpcUnary = "grpc-unary"
    /// gRPC Swift 2 over mutual TLS, all messages on one bidirectional stream.
    case grpcStream = "grpc-stream"
    /// An sd-bus method call through a private dbus-daemon.
    case sdBus = "sd-bus"
    /// RemoteSystems through its public API, sending inside the scope of the connection, as in `withAppService`.
    case ours
    /// The same, sending from tasks outside the scope of the connection.
    case oursFromPool = "ours-from-pool"
    /// A stream of RemoteSystems through its public API. Bytes are returned or discarded as they arrive.
    case oursStream = "ours-stream"

    /// The contestants that exchange messages. The others only send streams, as the controls of hand-off.
    package static let ofAllParts = allCases.filter { $0 != .rawTLSArrays && $0 != .rawTLSFiles }
}

/// The names of the coders.
package enum CoderName: String, Codable, CaseIterable, Sendable {
    /// Foundation's JSON coder with a dictionary of any content.
    case json
    /// Foundation's JSON coder with a structure whose fields the compiler knows.
    case jsonStructure = "json-structure"
    /// swift-protobuf's `Google_Protobuf_Struct`.
    case protobuf = "protobuf-struct"
    /// `ValueSet` as CBOR.
    case ours
}
