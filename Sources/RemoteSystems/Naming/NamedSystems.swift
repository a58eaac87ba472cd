// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// The systems that names meant, as the account's directory keeps them in `named-systems.json`.
///
/// A system chooses its own name, so several systems can have the same one. A name that a user gave once therefore
/// means the same system from then on.
///
/// A value without I/O or a clock. Bounded: the names that were not used for the longest time are dropped.
struct NamedSystems: Sendable, Equatable {
    /// A name, and whose name it is.
    struct Name: Hashable, Sendable {
        var text: String
        /// Whether the name is of a system of another account nearby. Such names never mean a system of this account.
        var isNearby = false
    }

    struct Meaning: Hashable, Sendable {
        var system: SystemID
        /// The time of the last use, in seconds since 1970.
        var used: Int
    }

    /// The maximum number of names.
    static let maxNames = 1024
    /// The age at which the time of the last use is stored again, in seconds: one day. The file is therefore not
    /// written at every use.
    static let refreshAge = 24 * 3600

    private(set) var meanings: [Name: Meaning] = [:]

    /// The result of ``remember(_:_:replacing:now:)``.
    enum OnRemember: Equatable {
        case unchanged
        case changed
        /// The name means another system. Nothing was changed.
        case meansOther(SystemID)
    }

    /// Records that a name was used for a system.
    ///
    /// - Parameters:
    ///   - replaces: whether the name may have meant another system.
    ///   - now: in seconds since 1970.
    mutating func remember(_ name: Name, _ system: SystemID, replaces: Bool, now: Int) -> OnRemember {
        if let meaning = self.meanings[name] {
            guard meaning.system == system || replaces else { return .meansOther(meaning.system) }
            guard meaning.system != system || abs(now - meaning.used) >= Self.refreshAge else { return .unchanged }
        }
        self.meanings[name] = Meaning(system: system, used: now)
        while self.meanings.count > Self.maxNames, let oldest = self.oldest(except: name) {
            self.meanings[oldest] = nil
        }
        return .changed
    }

    private func oldest(except name: Name) -> Name? {
        let others = self.meanings.filter { $0.key != name }
        return others.min { ($0.value.used, $0.key.text) < ($1.value.used, $1.key.text) }?.key
    }
}

// MARK: The file

extension NamedSystems {
    private struct Contents: Codable {
        struct Entry: Codable {
            var name: String
            /// `nil` for systems of the account.
            var nearby: Bool?
            var system: String
            var used: Int
        }

        var version: Int
        var names: [Entry]
    }

    private static let version = 1

    /// Reads the contents of the file. Refuses them as a whole if any part is impossible: a name that was left out
    /// could then mean another system.
    init(file: [UInt8]) throws(VersionedFile.Failure) {
        let contents: Contents = try VersionedFile.read(file, version: Self.version)
        guard contents.names.count <= Self.maxNames else { throw .damaged }
        for entry in contents.names {
            let name = Name(text: entry.name, isNearby: entry.nearby ?? false)
            guard name.text.isName, let system = SystemID(entry.system), entry.used >= 0,
                self.meanings.updateValue(Meaning(system: system, used: entry.used), forKey: name) == nil
            else { throw .damaged }
        }
    }

    func file() throws -> [UInt8] {
        let entries = self.meanings.sorted { ($0.key.text, $0.value.system) < ($1.key.text, $1.value.system) }
        return try VersionedFile.bytes(
            Contents(
                version: Self.version,
                names: entries.map { name, meaning in
                    Contents.Entry(
                        name: name.text,
                        nearby: name.isNearby ? true : nil,
                        system: "\(meaning.system)",
                        used: meaning.used
                    )
                }
            )
        )
    }
}
