// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// Files of the state directory that other modules keep there.
extension RemoteSystemsAccount {
    /// The contents of a file, and its path; no contents if there is none, or this system's identity is held only in
    /// memory.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the file cannot be read.
    package func contents(of file: StateFile) throws(RemoteSystemError) -> (bytes: [UInt8]?, path: String) {
        guard self.context.account.hasFiles else { return (nil, "") }
        return try self.withStore { store throws(IdentityError) in (try store.contents(of: file), store.path(of: file))
        }
    }

    /// Replaces a file.
    ///
    /// - Parameter update: returns the new contents; `nil` to leave the file as it is. Gets the present ones, or `nil`
    ///   if there is no file, and the path.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the file cannot be read or
    ///   written; the error of `update`.
    package func update(
        _ file: StateFile,
        _ update: ([UInt8]?, String) throws(RemoteSystemError) -> [UInt8]?
    ) throws(RemoteSystemError) {
        var failure: RemoteSystemError?
        do {
            try self.withStore { store throws(IdentityError) in
                try store.update(file) { bytes throws(IdentityError) in
                    do throws(RemoteSystemError) {
                        return try update(bytes, store.path(of: file))
                    } catch {
                        failure = error
                        throw IdentityError(.damaged, error.message, path: store.path(of: file))
                    }
                }
            }
        } catch {
            throw failure ?? error
        }
    }
}
