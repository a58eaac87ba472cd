// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials
import ValueSets

/// A host daemon's statement to another system: which publisher a program of this system has
/// (`Docs/wire/activities.md`, "Vouchers").
///
/// The daemon issues it only to the program itself. It holds for one application, one receiving system and one
/// activity, so it is useless for anything else, and needs no date.
package struct ApplicationVoucher: Sendable, Hashable {
    /// The maximum length of an encoded voucher, in bytes.
    package static let maxBytes = 1024

    private static let context = Array("remote-systems/1 voucher".utf8)

    /// What a voucher is about.
    package struct Subject: Sendable, Hashable {
        /// The id of the application for which it is issued.
        package var application: String
        /// The system to which the application presents it.
        package var audience: SystemID
        /// The activity that is handed over.
        package var activity: UUID

        package init(application: String, audience: SystemID, activity: UUID) {
            self.application = application
            self.audience = audience
            self.activity = activity
        }
    }

    package let subject: Subject
    package let publisher: ApplicationPublisher
    /// The encoded voucher.
    package let bytes: [UInt8]

    /// Issues a voucher.
    ///
    /// - Parameter identity: that of this system, which signs.
    /// - Throws: ``IdentityError/Code/cryptography``.
    package init(
        _ publisher: ApplicationPublisher,
        for subject: Subject,
        by identity: SystemIdentity
    ) throws(IdentityError) {
        let key = identity.systemKey.publicKey.compressedRepresentation
        var message = Self.message(publisher, subject, key: Array(key))
        do {
            let signature = try identity.systemKey.signature(for: Self.context + message.encoded())
            message["Signature"] = .data(Data(signature.rawRepresentation))
            self.bytes = try message.encoded()
        } catch {
            throw IdentityError(.cryptography, "A voucher could not be signed. Please report this.", cause: error)
        }
        self.subject = subject
        self.publisher = publisher
    }

    /// Verifies a voucher of another system.
    ///
    /// - Parameters:
    ///   - bytes: the voucher, as it arrived.
    ///   - subject: what it must be about.
    ///   - system: the system that must have signed it, which its certificate has proved.
    /// - Returns: `nil` unless it is exactly such a voucher.
    package init?(_ bytes: [UInt8], for subject: Subject, by system: SystemID) {
        guard bytes.count <= Self.maxBytes, let received = try? ValueSet(encoded: bytes),
            let key = received["Key"]?.data, let signatureBytes = received["Signature"]?.data,
            let publicKey = try? P256.Signing.PublicKey(compressedRepresentation: key),
            SystemID(of: publicKey) == system,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signatureBytes)
        else { return nil }
        let publisher = ApplicationPublisher(
            id: received["Publisher"]?.string,
            proof: received["Proof"]?.string
        )
        let message = Self.message(publisher, subject, key: Array(key))
        var stated = received
        stated["Signature"] = nil
        guard stated == message, let signed = try? message.encoded(),
            publicKey.isValidSignature(signature, for: Self.context + signed)
        else { return nil }
        self.subject = subject
        self.publisher = publisher
        self.bytes = bytes
    }

    private static func message(_ publisher: ApplicationPublisher, _ subject: Subject, key: [UInt8]) -> ValueSet {
        var message: ValueSet = [
            "Application": .string(subject.application), "Audience": .string("\(subject.audience)"),
            "Activity": .uuid(subject.activity), "Key": .data(Data(key)), "Proof": .string(publisher.proof),
        ]
        message["Publisher"] = publisher.id.map { .string("\($0)") }
        return message
    }
}
