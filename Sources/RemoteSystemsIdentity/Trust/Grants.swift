// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import ValueSets

/// The rights that an account grants to the systems of a linked account. Anything that is not listed is not permitted.
public struct Grants: Hashable, Sendable {
    /// The names of the app services that they may call. At most 64, of 1–255 bytes each. Defaults to none.
    public var services: Set<String>

    /// The schemes of the URIs that they may open here, in lower case. At most 64, of 1–64 bytes each. Defaults to
    /// none.
    public var uriSchemes: Set<String>

    /// The topics of published state that they may subscribe to. At most 64, of 1–255 bytes each. Defaults to none.
    public var topics: Set<String>

    /// The time from which nothing is granted, by the granting machine's clock; `nil` if the grants do not end.
    ///
    /// Rounded down to a whole second. Defaults to `nil`.
    public var end: Date? {
        didSet { self.end = Self.wholeSeconds(self.end) }
    }

    /// The maximum numbers of services, of schemes, and of topics.
    package static let maxNames = 64
    static let maxNameBytes = 255
    static let maxSchemeBytes = 64

    /// Creates grants.
    ///
    /// - Parameters:
    ///   - services: The names of the app services that may be called. Defaults to none.
    ///   - uriSchemes: The schemes of the URIs that may be opened. Upper-case letters become lower-case. Defaults to
    ///     none.
    ///   - topics: The topics that may be subscribed to. Defaults to none.
    ///   - end: The time from which nothing is granted. Defaults to `nil`, no end.
    public init(
        services: Set<String> = [],
        uriSchemes: Set<String> = [],
        topics: Set<String> = [],
        end: Date? = nil
    ) {
        self.services = services
        self.uriSchemes = Set(uriSchemes.map { $0.lowercased() })
        self.topics = topics
        self.end = Self.wholeSeconds(end)
    }

    /// Whether the grants name no service, scheme or topic. ``end`` does not count.
    public var isEmpty: Bool { self.services.isEmpty && self.uriSchemes.isEmpty && self.topics.isEmpty }

    /// Returns the rights at `now`: these, or none from their end on.
    package func inForce(at now: Date) -> Grants {
        if let end, end <= now { Grants() } else { self }
    }

    /// Dates are stored and sent in whole seconds, so that grants that were read equal those that were written.
    private static func wholeSeconds(_ date: Date?) -> Date? {
        guard let seconds = date?.timeIntervalSince1970, seconds.isFinite else { return nil }
        // The years 1 to 9999, which every form of a date can express.
        return Date(timeIntervalSince1970: min(max(seconds, -62_135_596_800), 253_402_300_799).rounded(.down))
    }
}

extension Grants {
    /// Checks the names and their numbers.
    ///
    /// - Throws: ``IdentityError/Code/invalidLink``, which names the first problem.
    package func validate() throws(IdentityError) {
        for (what, names) in [("services", self.services), ("topics", self.topics)] {
            try Self.check(names, what) { $0.utf8.count <= Self.maxNameBytes && !$0.hasControlCharacters }
        }
        try Self.check(self.uriSchemes, "URI schemes") { scheme in
            scheme.utf8.count <= Self.maxSchemeBytes && URIGrammar.isScheme(scheme) && scheme == scheme.lowercased()
        }
    }

    private static func check(
        _ names: Set<String>,
        _ what: String,
        _ isValid: (String) -> Bool
    ) throws(IdentityError) {
        guard names.count <= Self.maxNames else {
            throw .invalidLink("Grants name at most \(Self.maxNames) \(what); these name \(names.count).")
        }
        guard names.allSatisfy({ !$0.isEmpty && isValid($0) }) else {
            throw .invalidLink("One of the granted \(what) has an invalid name.")
        }
    }

    // MARK: Coding

    private enum Key {
        static let services = "services"
        static let uriSchemes = "schemes"
        static let topics = "topics"
        static let end = "end"
    }

    /// The grants as a message part (`Docs/wire/links.md`). Empty sets and a missing end are left out.
    var value: ValueSet {
        var set = ValueSet()
        for (key, names) in [
            (Key.services, self.services), (Key.uriSchemes, self.uriSchemes), (Key.topics, self.topics),
        ] where !names.isEmpty {
            set[key] = .array(names.sorted().map { .string($0) })
        }
        if let end { set[Key.end] = .date(end) }
        return set
    }

    /// Reads grants; `nil` if they break a rule. Unknown keys are ignored.
    init?(_ value: ValueSet?) {
        guard let value else { return nil }
        func names(_ key: String) -> Set<String>? {
            guard let element = value[key] else { return [] }
            guard let array = element.array, array.count <= Self.maxNames else { return nil }
            let names = array.compactMap(\.string)
            return names.count == array.count ? Set(names) : nil
        }
        guard let services = names(Key.services), let schemes = names(Key.uriSchemes), let topics = names(Key.topics),
            schemes.allSatisfy({ $0 == $0.lowercased() })
        else { return nil }
        var end: Date?
        if let element = value[Key.end] {
            guard let date = element.date else { return nil }
            end = date
        }
        self.init(services: services, uriSchemes: schemes, topics: topics, end: end)
        do throws(IdentityError) { try self.validate() } catch { return nil }
    }
}
