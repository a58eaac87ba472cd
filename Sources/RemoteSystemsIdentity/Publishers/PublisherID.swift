// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The id of a publisher: the author of applications, who signs their manifests.
///
/// The id is the SHA-256 of the publisher's first public key, in base32 (RFC 4648 §6, lower case, no padding: 52
/// characters). It does not change when the publisher replaces its key. It does not identify a user: all users of an
/// application have the same publisher.
public struct PublisherID: Hashable, Sendable, KeyBasedID {
    package let fingerprint: KeyFingerprint
    static let noun = "A publisher id"

    init(of key: P256.Signing.PublicKey) { self.fingerprint = KeyFingerprint(of: key) }

    /// The first eight characters: enough for a person to distinguish publishers, not enough to trust one.
    public var short: String { String(self.description.prefix(8)) }

    /// The 32 bytes of the id.
    public var bytes: [UInt8] { self.fingerprint.bytes }
}

extension PublisherID: LosslessStringConvertible {
    /// Creates an id from its text.
    ///
    /// - Parameter description: 52 canonical lower-case base32 characters. For any other text, the result is `nil`.
    public init?(_ description: String) {
        guard let fingerprint = KeyFingerprint(description) else { return nil }
        self.fingerprint = fingerprint
    }

    /// The 52 characters of the id.
    public var description: String { self.fingerprint.text }
}

/// An application together with its publisher, as web sites name it: `PUBLISHER.APPLICATION`.
public struct PublishedApplicationID: Hashable, Sendable, LosslessStringConvertible {
    /// The publisher.
    public var publisher: PublisherID
    /// The application's id, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8.
    public var application: String

    /// Creates the id of an application of a publisher.
    ///
    /// - Returns: `nil` if the application's id is empty, longer than 256 bytes, or contains a space or a control
    ///   character.
    public init?(publisher: PublisherID, application: String) {
        guard (1...256).contains(application.utf8.count), application.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        self.publisher = publisher
        self.application = application
    }

    /// Reads `PUBLISHER.APPLICATION`.
    ///
    /// - Parameter description: the 52 characters of the publisher's id, a dot, and the application's id. For any other
    ///   text, the result is `nil`.
    public init?(_ description: String) {
        guard let dot = description.firstIndex(of: "."), let publisher = PublisherID(String(description[..<dot])) else {
            return nil
        }
        self.init(publisher: publisher, application: String(description[description.index(after: dot)...]))
    }

    /// `PUBLISHER.APPLICATION`.
    public var description: String { "\(self.publisher).\(self.application)" }
}
