// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// Decides which system a text means that a user gave: a system's name, its id, or the beginning of its id.
///
/// A system chooses its own name, so a name alone identifies nothing. The rules:
///
/// - An id means the system with this id, whatever the names are.
/// - A name that meant a system before means this system only.
/// - Any other text must match exactly one of the systems that are reachable when the enumeration is complete.
///
/// A value type without I/O and without a clock.
package struct NameSearch: Sendable {
    package enum Decision: Equatable, Sendable {
        /// No system is meant yet.
        case undecided
        case system(SystemID)
        /// Several systems match.
        case ambiguous([SystemID])
        /// The name meant a system that does not have it now; the others have it.
        case changed(from: SystemID, to: [SystemID])
    }

    /// The minimum length of the beginning of an id, in characters.
    package static let minPrefix = 4
    /// The length from which the beginning of an id identifies a system, in characters: 80 bits. A shorter one can be
    /// found for another key by trying.
    static let safePrefix = 16

    package let text: String
    /// The system that the name meant before; `nil` for none.
    package let remembered: SystemID?
    /// The systems of the account that are known without being reachable.
    private let known: Set<SystemID>
    /// The last name of each system. A system that was removed keeps it, so that a system that comes and goes is
    /// counted.
    private var seen: [SystemID: String] = [:]
    private var isEnumerated = false

    package init(_ text: String, remembered: SystemID?, known: some Sequence<SystemID> = []) {
        self.text = text
        self.remembered = remembered
        self.known = Set(known)
    }

    package mutating func saw(_ system: SystemID, named name: String) { self.seen[system] = name }

    package mutating func enumerationCompleted() { self.isEnumerated = true }

    /// The last name of a system; `nil` if it was not seen.
    package func name(of system: SystemID) -> String? { self.seen[system] }

    /// The systems that were seen.
    package var systems: [SystemID] { Array(self.seen.keys) }

    /// The names of the systems that were seen.
    package var names: [String] { Array(self.seen.values) }

    /// Whether a system has the name or the id that the text states.
    package func matches(_ system: SystemID) -> Bool {
        if let id = SystemID(self.text) { return id == system }
        return self.isNamed(system) || self.hasPrefix(system)
    }

    /// Whether the text means the system by its name. Only names need to be remembered.
    package func isNamed(_ system: SystemID) -> Bool {
        SystemID(self.text) == nil && self.seen[system] == self.text
    }

    /// The system that is meant, as far as that is known now.
    package var decision: Decision {
        if let id = SystemID(self.text) { return self.seen[id] == nil ? .undecided : .system(id) }
        if let remembered { return self.isNamed(remembered) ? .system(remembered) : .undecided }
        if self.text.count >= Self.safePrefix, let id = self.seen.keys.first(where: self.hasPrefix) {
            return .system(id)
        }
        return self.isEnumerated ? self.only : .undecided
    }

    /// The system that is meant when the search ends.
    package var finalDecision: Decision {
        guard self.decision == .undecided, SystemID(self.text) == nil else { return self.decision }
        guard let remembered else { return self.only }
        let others = self.candidates.filter { $0 != remembered }
        return others.isEmpty ? .undecided : .changed(from: remembered, to: others)
    }

    private var only: Decision {
        let candidates = self.candidates
        guard let first = candidates.first else { return .undecided }
        return candidates.count == 1 ? .system(first) : .ambiguous(candidates)
    }

    private var candidates: [SystemID] {
        let known = self.known.filter(self.hasPrefix)
        return known.union(self.seen.keys.filter(self.matches)).sorted()
    }

    private func hasPrefix(_ system: SystemID) -> Bool {
        self.text.count >= Self.minPrefix && system.description.hasPrefix(self.text)
    }
}

extension SystemID {
    /// The beginnings of ids that distinguish them from each other, at least eight characters each.
    package static func distinctPrefixes(of systems: some Sequence<SystemID>) -> [SystemID: String] {
        let texts = Set(systems).map { ($0, $0.description) }
        return Dictionary(
            uniqueKeysWithValues: texts.map { system, text in
                let shared = texts.filter { $0.0 != system }.map { zip(text, $0.1).prefix { $0 == $1 }.count }
                return (system, String(text.prefix(max(8, (shared.max() ?? 0) + 1))))
            }
        )
    }
}
