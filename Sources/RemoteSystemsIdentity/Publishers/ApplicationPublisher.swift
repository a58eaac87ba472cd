// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The publisher of an application, as the host daemon of the application's system vouches for it.
///
/// A manifest is public and therefore proves nothing about a process. The daemon compares the process with the manifest
/// (`Docs/security-model.md`, "Publishers").
public enum ApplicationPublisher: Sendable, Hashable {
    /// The application's manifest is signed, and the daemon vouches that the process is the manifest's. For an
    /// application that does not run: the manifest is signed, and the daemon starts the program that it names.
    case proven(PublisherID)
    /// The daemon does not vouch for the process. The id is that of the signed manifest with the application's id, if
    /// there is one. Also applies to every application of a system without a host daemon.
    case unproven(PublisherID?)
    /// The application's manifest is not signed, or there is none.
    case unsigned
    /// The manifest with the application's id has a signature that is not valid.
    case invalidSignature

    /// The publisher that the manifest names; `nil` if it is not signed validly.
    public var id: PublisherID? {
        switch self {
        case .proven(let id): id
        case .unproven(let id): id
        case .unsigned, .invalidSignature: nil
        }
    }

    /// Whether the publisher is proven.
    package var isProven: Bool {
        if case .proven = self { true } else { false }
    }

    /// The proof as it is sent: `proven`, `unproven`, `unsigned` or `invalid`.
    package var proof: String {
        switch self {
        case .proven: "proven"
        case .unproven: "unproven"
        case .unsigned: "unsigned"
        case .invalidSignature: "invalid"
        }
    }

    /// Reads what a peer has sent. Unknown proofs, and a proof without a valid id, count as unproven.
    package init(id: String?, proof: String?) {
        let id = id.flatMap { PublisherID($0) }
        switch (proof, id) {
        case ("proven", let id?): self = .proven(id)
        case ("unsigned", _): self = .unsigned
        case ("invalid", _): self = .invalidSignature
        default: self = .unproven(id)
        }
    }
}

extension ApplicationPublisher: CustomStringConvertible {
    /// A phrase for people, such as `publisher abcdefgh` or `unsigned`.
    public var description: String {
        switch self {
        case .proven(let id): "publisher \(id.short)"
        case .unproven(let id): id.map { "publisher \($0.short) unproven" } ?? "publisher unproven"
        case .unsigned: "unsigned"
        case .invalidSignature: "invalid signature"
        }
    }
}
