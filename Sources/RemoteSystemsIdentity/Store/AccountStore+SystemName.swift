// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name of this system that its user chose, in the file `system-name` of the store. It stays when the account
/// changes, because it describes the machine.
extension AccountStore {
    static let systemNameName = "system-name"

    /// The maximum length of the name, in bytes.
    package static let maxSystemNameBytes = 256

    /// The name that the user chose for this system; `nil` if there is none or the file cannot be used.
    package func systemName() -> String? {
        guard let state = try? SecretDirectory.open(path: self.directory),
            let bytes = try? state.read(Self.systemNameName), bytes.count <= Self.maxSystemNameBytes,
            let name = String(validating: bytes, as: UTF8.self), !name.isEmpty
        else { return nil }
        return name
    }

    /// Replaces the name of this system.
    ///
    /// - Parameter name: At most ``maxSystemNameBytes`` of UTF-8, which the caller has checked; `nil` for none.
    package func rename(to name: String?) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            try state.replace(Self.systemNameName, Array((name ?? "").utf8))
        }
    }
}
