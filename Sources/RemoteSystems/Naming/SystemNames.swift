// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// The names of the known systems, and how each is shown to a user.
///
/// A system chooses its own name, so it can take that of another one. A name that could be mistaken for that of another
/// system is shown with the beginning of the system's id.
///
/// A value type without I/O.
package struct SystemNames: Sendable {
    /// The maximum length of a name that is shown as it is, in characters. The beginnings of longer ones can be equal,
    /// and a desktop cuts them.
    private static let maxCharacters = 40
    /// The maximum length of a name before an id, in characters.
    private static let maxBeforeID = 32
    /// What notifications say of their own system, in its compared form.
    private static let reserved: Set<String> = ["thissystem", "thismachine"]

    /// The systems that have or had a name, by its compared form.
    private var holders: [String: Set<SystemID>] = [:]

    package init() {}

    /// Adds a name that a system has or had. An empty one counts for none.
    package mutating func add(_ name: String, of system: SystemID) {
        // A system whose name is not known is shown by the beginning of its id.
        for text in [name, system.short] where !Self.form(of: text).isEmpty {
            self.holders[Self.form(of: text), default: []].insert(system)
        }
    }

    /// The name of a system, with the beginning of its id unless no other known system has a name like it.
    package func shown(_ name: String, of system: SystemID) -> String {
        guard let id = self.id(beside: name, of: system) else { return name }
        return "\(name.count > Self.maxBeforeID ? "\(name.prefix(Self.maxBeforeID - 1))…" : name) (\(id))"
    }

    /// The beginning of a system's id that is shown beside its name; `nil` if no other known system has a name like it.
    package func id(beside name: String, of system: SystemID) -> String? {
        let form = Self.form(of: name)
        let others = self.holders[form, default: []].subtracting([system])
        // A name in brackets could be an id that belongs to another system.
        let hasBracket = name.unicodeScalars.contains { $0.properties.generalCategory == .openPunctuation }
        guard
            !others.isEmpty || hasBracket || form.isEmpty || Self.reserved.contains(form)
                || name.count > Self.maxCharacters
        else { return nil }
        return SystemID.distinctPrefixes(of: others.union([system]))[system] ?? system.short
    }

    /// A name without what a reader may not see, and without regard to case.
    private static func form(of name: String) -> String {
        let scalars: [Unicode.Scalar] = name.unicodeScalars.filter { $0.isDistinct }
        return String(String.UnicodeScalarView(scalars)).lowercased()
    }
}

extension Unicode.Scalar {
    /// Whether a reader sees the character, and not only a space.
    fileprivate var isDistinct: Bool {
        // The braille pattern without a dot.
        guard !self.properties.isDefaultIgnorableCodePoint, !self.properties.isWhitespace, self != "\u{2800}" else {
            return false
        }
        return switch self.properties.generalCategory {
        case .control, .format, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
