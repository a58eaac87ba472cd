// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

extension AccountStore {
    /// Notes the name and the certificate of a system that this machine has just admitted, until a watcher meets it.
    ///
    /// Only lists of the account's systems use the note, so a failure is ignored.
    ///
    /// - Parameter name: the name that the system gave itself; `nil` if it gave none. The name noted before stays then.
    func noteAdmission(of system: SystemID, named name: String?, now: Date) {
        self.note(of: nil) { known in
            let seconds = Int(now.timeIntervalSince1970)
            let meeting = KnownEndpoints.Meeting(
                name: name ?? known.met[system]?.name ?? "",
                certificateEnd: seconds + Int(CertificateLife.system),
                time: seconds
            )
            return known.met(system, meeting)
        }
    }

    /// Notes the name and the certificate of a system that this machine has met without a watcher.
    ///
    /// Only lists of the account's systems use the note, so a failure is ignored.
    ///
    /// - Parameters:
    ///   - certificateEnd: the end of the certificate, which was verified.
    ///   - own: this system's id in the account of the system that was met. Notes nothing if the store now holds
    ///     another account.
    func noteMeeting(
        with system: SystemID,
        named name: String,
        certificateEnd: Date,
        by own: SystemID,
        now: Date
    ) {
        let meeting = KnownEndpoints.Meeting(
            name: name,
            certificateEnd: certificateEnd,
            time: Int(now.timeIntervalSince1970)
        )
        // Most meetings change nothing, and need no lock.
        if let file = try? self.contents(of: .knownEndpoints), var known = try? KnownEndpoints(file: file),
            !known.met(system, meeting)
        {
            return
        }
        self.note(of: own) { $0.met(system, meeting) }
    }

    /// Changes what is known of the account's systems, if `change` returns that this is worth it.
    ///
    /// - Parameter own: this system's id in the account that the change is for; `nil` for any account.
    private func note(of own: SystemID?, _ change: (inout KnownEndpoints) -> Bool) {
        try? self.update(.knownEndpoints, of: own) { file in
            guard var known = try? KnownEndpoints.reading(file), change(&known) else { return nil }
            return try? known.file()
        }
    }
}
