// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import SwiftASN1
import X509

extension Certificate {
    /// The maximum size of a certificate that is parsed, in bytes. Those made by this package have about 600 bytes.
    static let largestDER = 4096

    /// Parses a certificate of at most ``largestDER`` bytes.
    init(boundedDER der: [UInt8]) throws {
        guard der.count <= Self.largestDER else {
            throw ASN1Error.invalidASN1Object(reason: "\(der.count) bytes, of at most \(Self.largestDER)")
        }
        try self.init(derEncoded: der)
        guard try Self.hasUsableTimes(der) else {
            throw ASN1Error.invalidASN1Object(reason: "The validity has a time that does not exist.")
        }
    }

    /// Whether the library can convert the validity of a certificate to dates. Its parser accepts a second 61, and its
    /// conversion ends a debug build for it.
    private static func hasUsableTimes(_ der: [UInt8]) throws -> Bool {
        // A certificate contains what is signed, of which the validity is the only sequence with times.
        let times = try DER.parse(der).children.first?.children.compactMap { field in
            let first = field.children.first?.identifier
            return first == .utcTime || first == .generalizedTime ? field.children : nil
        }
        return try times?.joined().allSatisfy { time in
            let seconds =
                time.identifier == .utcTime
                ? try UTCTime(derEncoded: time).seconds : try GeneralizedTime(derEncoded: time).seconds
            return seconds <= 60
        } ?? false
    }

    func der() throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(self)
        return serializer.serializedBytes
    }

    /// The P-256 key in the certificate, or nil when it holds another kind of key.
    var p256Key: P256.Signing.PublicKey? { P256.Signing.PublicKey(self.publicKey) }
}

/// Runs `body` and reports its failure as a failure of the cryptographic library.
func makingCertificate<Result>(_ body: () throws -> Result) throws(IdentityError) -> Result {
    do {
        return try body()
    } catch {
        throw IdentityError(
            .cryptography,
            "The cryptographic library refused to make a certificate. Trying again will not help; please report this.",
            cause: error
        )
    }
}

extension ASN1Node {
    /// The nodes of a constructed node; empty for a primitive one.
    fileprivate var children: [ASN1Node] {
        guard case .constructed(let nodes) = self.content else { return [] }
        return Array(nodes)
    }
}
