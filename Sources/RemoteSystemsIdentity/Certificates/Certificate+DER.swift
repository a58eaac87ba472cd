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
