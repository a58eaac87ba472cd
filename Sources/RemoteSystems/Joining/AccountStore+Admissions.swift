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
        try? self.update(.knownEndpoints) { file in
            guard var known = try? KnownEndpoints.reading(file) else { return nil }
            let seconds = Int(now.timeIntervalSince1970)
            let meeting = KnownEndpoints.Meeting(
                name: name ?? known.met[system]?.name ?? "",
                certificateEnd: seconds + Int(CertificateLife.system),
                time: seconds
            )
            guard known.met(system, meeting) else { return nil }
            return try? known.file()
        }
    }
}
