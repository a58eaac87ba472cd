// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystemsIdentity

/// Remembers which systems names meant: see ``NamedSystems``.
extension RemoteSystemsAccount {
    /// The system that a name meant when it was used before; `nil` if it was not.
    ///
    /// - Parameter isNearby: whether the name is of a system of another account.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``, also if the file is damaged. The
    ///   system that has the name now must then not be used, since it may be another one.
    package func system(named name: String, isNearby: Bool = false) throws(RemoteSystemError) -> SystemID? {
        try self.withStore { store throws(IdentityError) in
            let names = try Self.read(try store.contents(of: .namedSystems), of: store)
            return names.meanings[NamedSystems.Name(text: name, isNearby: isNearby)]?.system
        }
    }

    /// Remembers that a name means a system.
    ///
    /// - Parameters:
    ///   - isNearby: whether the name is of a system of another account.
    ///   - replaces: whether the name may have meant another system.
    /// - Returns: the system that the name means now: another one if it meant that one and `replaces` is `false`.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the file cannot be read or
    ///   written.
    package func remember(
        _ system: SystemID,
        named name: String,
        isNearby: Bool = false,
        replaces: Bool = false
    ) throws(RemoteSystemError) -> SystemID {
        let name = NamedSystems.Name(text: name, isNearby: isNearby)
        let now = max(Int(Date().timeIntervalSince1970), 0)
        var meant = system
        try self.withStore { store throws(IdentityError) in
            // Most uses change nothing, and need no lock.
            var present = try Self.read(try store.contents(of: .namedSystems), of: store)
            if present.remember(name, system, replaces: replaces, now: now) == .unchanged { return }
            try store.update(.namedSystems) { file throws(IdentityError) in
                var names = try Self.read(file, of: store)
                switch names.remember(name, system, replaces: replaces, now: now) {
                case .unchanged: return nil
                case .changed: return try Self.encode(names, of: store)
                case .meansOther(let other):
                    meant = other
                    return nil
                }
            }
        }
        return meant
    }

    /// The names that the systems of the account have or had, as far as this machine knows. Those of revoked systems
    /// count only if the user has named them.
    package func systemNames() throws(RemoteSystemError) -> SystemNames { try self.names(of: try self.systems()) }

    /// The name of a system of the account for a user to read, with the beginning of its id if another system has or
    /// had one like it; `nil` if its name is not known.
    package func shownName(of system: SystemID) throws(RemoteSystemError) -> String? {
        let systems = try self.systems()
        guard let name = systems.first(where: { $0.id == system })?.name else { return nil }
        return try self.names(of: systems).shown(name, of: system)
    }

    private func names(of systems: [AccountSystem]) throws(RemoteSystemError) -> SystemNames {
        var names = SystemNames()
        for system in systems where !system.isRevoked { names.add(system.name ?? "", of: system.id) }
        let named = try self.withStore { store throws(IdentityError) in
            try Self.read(try store.contents(of: .namedSystems), of: store)
        }
        for (name, meaning) in named.meanings where !name.isNearby { names.add(name.text, of: meaning.system) }
        return names
    }

    private static func read(_ file: [UInt8]?, of store: AccountStore) throws(IdentityError) -> NamedSystems {
        guard let file else { return NamedSystems() }
        let path = store.path(of: .namedSystems)
        do {
            return try NamedSystems(file: file)
        } catch {
            switch error {
            case .newerVersion:
                throw IdentityError(
                    .unsupportedFormat,
                    "A newer version of the software wrote \(path). Update this machine's software.",
                    path: path
                )
            case .damaged:
                throw IdentityError(
                    .damaged,
                    """
                    \(path) is damaged. It keeps which systems the names meant that were used before. Name the system \
                    by its id, which needs no file ('remotesystems list --json' prints the ids). To use names again, \
                    delete the file, and check with 'remotesystems info NAME' that each name leads to the right id.
                    """,
                    path: path
                )
            }
        }
    }

    private static func encode(_ names: NamedSystems, of store: AccountStore) throws(IdentityError) -> [UInt8] {
        do {
            return try names.file()
        } catch {
            throw IdentityError(
                .inputOutput,
                "The names of systems could not be encoded: \(error)",
                path: store.path(of: .namedSystems),
                cause: error
            )
        }
    }
}
