// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import ValueSets

/// Authorises one system to open one stream, once, for one purpose: 128 random bits (`Docs/wire/streams.md`).
///
/// A ticket is secret. Its descriptions do not show it, and logs and errors must not contain it.
package struct StreamTicket: Sendable {
    package static let byteCount = 16

    /// The secret. For use on the wire only.
    package let bytes: [UInt8]

    /// Creates a ticket from its bytes; `nil` unless there are ``byteCount`` of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A new ticket from the system's secure random number generator.
    static func random() -> StreamTicket {
        var generator = SystemRandomNumberGenerator()
        return StreamTicket((0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}

extension StreamTicket: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(a stream ticket)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension StreamTicket: Hashable {
    /// Compares in constant time.
    package static func == (left: StreamTicket, right: StreamTicket) -> Bool {
        zip(left.bytes, right.bytes).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.bytes)
    }
}

extension StreamTicket {
    /// The ticket as a value of a message: a UUID, because even the narrowest schema allows UUIDs.
    package var value: Value {
        let b = self.bytes
        return .uuid(
            UUID(
                uuid: (
                    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
                )
            )
        )
    }

    /// Reads a ticket from a value of a message; `nil` if the value is not a ticket.
    package init?(_ value: Value?) {
        guard let u = value?.uuid?.uuid else { return nil }
        self.init([
            u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
        ])
    }
}

/// The part of a hello that opens a stream.
package struct StreamClaim: Sendable, Hashable {
    /// The service name in the hello for a stream. A host without streams refuses it as a service that it does not
    /// offer.
    package static let service = "remote-systems.stream"

    package var ticket: StreamTicket
    /// The purpose of the stream, as the offering side named it. It must be equal on both sides.
    package var purpose: String

    package init(ticket: StreamTicket, purpose: String) {
        self.ticket = ticket
        self.purpose = purpose
    }

    var valueSet: ValueSet {
        ["ticket": .data(Data(self.ticket.bytes)), "purpose": .string(self.purpose)]
    }
}
