// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

@testable import RemoteSystemsIdentity

/// The account of `Docs/wire-vectors.json`, so that its certificates and lists are valid here.
enum Account {
    /// The time in the vectors.
    static let now = Date(timeIntervalSince1970: 1_790_000_000)

    private static func key(_ hexadecimal: String) -> P256.Signing.PrivateKey {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return made { try P256.Signing.PrivateKey(rawRepresentation: bytes) }
    }

    static let rootKey = key("44f55eb3dd490cc8fa13ad1d18648d038ace6e848782ff0e0f22327769b67b8b")
    static let systemKey = key("60826facd4b7f65b2310dcb0d5002d59b1624950f64c68384272c2be02f3c773")
    static let inviterKey = key("0d804774b083f0b911f9f7a3a111ca847097566964e363b3e384aa27a287341d")
    static let joinerKey = key("4a9e102004bf3435c722f8668b966f9ab0dbf5c7bad7d7e1318e079da9c768ef")

    static let authority = made { try AccountAuthority(creatingAt: now, key: rootKey) }
    static let identity = identity(of: systemKey)
    static let inviter = identity(of: inviterKey)
    static let discoveryKey = DiscoveryKey(bytes: [UInt8](repeating: 7, count: DiscoveryKey.byteCount))

    private static func identity(of key: P256.Signing.PrivateKey) -> SystemIdentity {
        made {
            try SystemIdentity(
                rootCertificate: authority.rootCertificate,
                certificate: authority.issueCertificate(for: key.publicKey, now: now),
                systemKey: key,
                discoveryKey: discoveryKey ?? DiscoveryKey(),
                isAuthority: false
            )
        }
    }

    static func peer(_ standing: Standing.Kind) -> PeerIdentity {
        PeerIdentity(
            standing == .anonymous ? .anonymous : .sameAccount(authority.accountID),
            systemID: inviter.systemID,
            expiry: .distantFuture
        )
    }
}

/// Returns the result of making something that every input needs.
func made<Result>(_ body: () throws -> Result) -> Result {
    do { return try body() } catch { broken("the target cannot start: \(error)") }
}
