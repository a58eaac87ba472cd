// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import ValueSets

/// A frame of the wire protocol (`Docs/wire-protocol.md`, section 4). On the wire each frame is a CBOR array whose
/// first element is the ``Kind``.
package enum Frame: Sendable, Hashable {
    case hello(Hello)
    case accept(Acceptance)
    case refuse(OpenStatus, WireFailure)
    case request(
        id: UInt64,
        timeoutMilliseconds: UInt64,
        message: ValueSet,
        key: [UInt8]? = nil,
        metadata: ValueSet = ValueSet()
    )
    case response(id: UInt64, status: ResponseStatus, message: ValueSet, failure: WireFailure?)
    case cancel(id: UInt64)
    case ping(token: UInt64)
    case pong(token: UInt64)
    case close(CloseStatus, WireFailure?)
    /// Bytes of a stream, 1 to ``maxDataBytes`` (`Docs/wire/streams.md`).
    case data(ByteBuffer)
    /// The sender of a stream sends no more bytes.
    case fin
    /// The sender aborts a stream in both directions.
    case abort(WireFailure)
    case state(StateMessage)
    /// A request or response whose frame is well-formed but whose message is not. The connection stays open.
    case malformed(Kind, id: UInt64, ValueSetError)
    /// A frame of a kind that this version does not know. It is ignored.
    case unknown(kind: UInt64)

    /// The maximum length of a request's idempotency key, in bytes.
    package static let maxKeyBytes = 64
    /// The maximum number of bytes of a stream in one frame.
    package static let maxDataBytes = 64 << 10

    /// The kind of a frame, with its number on the wire.
    package enum Kind: UInt64, Sendable {
        case hello = 0
        case accept = 1
        case refuse = 2
        case request = 3
        case response = 4
        case cancel = 5
        case ping = 6
        case pong = 7
        case close = 8
        case data = 9
        case fin = 10
        case abort = 11
        case state = 12
    }
}
