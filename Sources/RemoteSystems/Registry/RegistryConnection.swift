// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// A program's connection to its host daemon while there is one.
final class RegistryConnection: Sendable {
    /// The time to wait for a daemon that is there and has not accepted the program yet, and for its response.
    private static let wait = Duration.seconds(2)

    private let connection = ObservableValue<Connection?>(nil)

    func opened(_ connection: Connection) { self.connection.change { $0 = connection } }

    func closed(_ connection: Connection) {
        self.connection.change { if $0 === connection { $0 = nil } }
    }

    /// Asks the daemon for a voucher about this program.
    ///
    /// - Parameter isExpected: whether a daemon is there, so that it is waited for.
    /// - Returns: `nil` if there is no daemon, or one that issues no vouchers.
    func voucher(
        for subject: ApplicationVoucher.Subject,
        by system: SystemID,
        isExpected: Bool,
        time: TimeSource
    ) async -> OwnVoucher? {
        if isExpected, self.connection.value == nil {
            await withTaskGroup { group in
                group.addTask { await self.connection.becomes { $0 != nil } }
                group.addTask { try? await time.sleep(for: Self.wait) }
                await group.next()
                group.cancelAll()
            }
        }
        guard let connection = self.connection.value,
            let response = try? await connection.send(
                Registry.vouch(for: subject),
                timeout: TimeAmount(Self.wait)
            ), response.status == .success, let bytes = response.message[Registry.voucher]?.data.map({ Array($0) }),
            let voucher = ApplicationVoucher(bytes, for: subject, by: system)
        else { return nil }
        return OwnVoucher(
            bytes: bytes,
            publisher: voucher.publisher,
            hasSignedManifests: response.message[Registry.hasSignedManifests]?.bool ?? false
        )
    }
}

extension Registry {
    /// The key of the daemon's response: the voucher.
    static let voucher = "Voucher"
    /// The key of the daemon's response: whether a manifest of the machine is signed.
    static let hasSignedManifests = "Signed"

    /// A program's request for a voucher about itself.
    static func vouch(for subject: ApplicationVoucher.Subject) -> ValueSet {
        ["Type": "vouch", "Audience": .string("\(subject.audience)"), "Activity": .uuid(subject.activity)]
    }

    /// Reads the request of a program that registered an application id; `nil` if it is another request.
    static func subject(_ message: ValueSet, of application: String) -> ApplicationVoucher.Subject? {
        guard message["Type"]?.string == "vouch",
            let audience = message["Audience"]?.string.flatMap({ SystemID($0) }),
            let activity = message["Activity"]?.uuid
        else { return nil }
        return ApplicationVoucher.Subject(application: application, audience: audience, activity: activity)
    }
}
