// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
package import RemoteSystemsIdentity
internal import ValueSets

/// Several offers are those that a caller has named.
package struct AmbiguousOffer: Error {
    /// Why an id can name several offers. Ids are random, so two activities never have the same one by chance.
    package static let reason = "An id is unique unless a system copies it."

    /// The maximum number of offers that the message names.
    private static let maxNamed = 16

    /// Sentences for people: which offers there are, and how to name one of them to the command.
    package var message: String { "\(self.offers)\n\(self.advice)" }

    /// Which offers there are, each in a line of its own.
    package let offers: String

    private let advice: String

    /// - Parameter offers: the offers, at least two.
    fileprivate init(_ offers: [UserActivityOffer]) {
        let ids = Set(offers.map(\.shownID))
        // Systems can have the same name.
        let systems = SystemID.distinctPrefixes(of: offers.map(\.system.id))
        guard ids.count == 1, let id = ids.first else {
            self.offers = "Several activities are offered:" + Self.list(offers, systems) { "\($0.shownID.prefix(8))  " }
            self.advice = "State the id of one."
            return
        }
        // Each system is named once, so that one with many copies does not fill the list.
        var named: Set<SystemID> = []
        let listed = systems.count > 1 ? offers.filter { named.insert($0.system.id).inserted } : offers
        let origin = systems.count > 1 ? "the name or the beginning of the id of its system" : "its application's id"
        let place = systems.count > 1 ? "SYSTEM" : "APPLICATION"
        self.offers = "Several activities with the id \(id) are offered:" + Self.list(listed, systems)
        self.advice =
            "\(Self.reason) State the origin of the one that you mean: 'remotesystems activities continue \(id) --from "
            + "\(place)', with \(origin)."
    }

    /// Lists offers, each after a line break. What a system chooses comes after its id and is quoted, so that it cannot
    /// be read as the offer of another one.
    private static func list(
        _ offers: [UserActivityOffer],
        _ systems: [SystemID: String],
        _ start: (UserActivityOffer) -> String = { _ in "" }
    ) -> String {
        let lines = offers.prefix(Self.maxNamed).map { offer in
            "\n\(start(offer))\(offer.system.idAndName(systems))  \(offer.applicationID.quotedUnlessPlain)  "
                + (offer.title ?? offer.activityType).quoted
        }
        let rest = offers.count > Self.maxNamed ? "\nand \(offers.count - Self.maxNamed) more" : ""
        return lines.joined() + rest
    }
}

extension [UserActivityOffer] {
    /// Returns the offer that a user names; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - text: the beginning of its id, or its type. `nil` if any offer is meant.
    ///   - origin: the system or the application that offers it (``UserActivityOffer/isFrom(_:)``). Defaults to `nil`:
    ///     any.
    package func named(_ text: String?, from origin: String? = nil) throws(AmbiguousOffer) -> UserActivityOffer? {
        let wanted = text?.lowercased()
        let named = self.filter { offer in
            guard let wanted else { return true }
            return offer.shownID.hasPrefix(wanted) || offer.activityType.lowercased() == wanted
        }
        return try named.only(from: origin)
    }

    /// Returns the offer with an id; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - id: the whole id.
    ///   - system: the system that offers it. Defaults to `nil`: any.
    ///   - application: the id of the application that offers it. Defaults to `nil`: any.
    package func offer(
        withID id: String,
        of system: SystemID? = nil,
        by application: String? = nil
    ) throws(AmbiguousOffer) -> UserActivityOffer? {
        let id = id.lowercased()
        return try self.filter { offer in
            offer.shownID == id && offer.system.id == system ?? offer.system.id
                && offer.applicationID == application ?? offer.applicationID
        }.only(from: nil)
    }

    private func only(from origin: String?) throws(AmbiguousOffer) -> UserActivityOffer? {
        let matching = self.filter { offer in origin.map { offer.isFrom($0) } ?? true }
        // Another account must not make the choice among the activities of this one ambiguous.
        let own = matching.filter { $0.system.authorizationKind == .sameUser }
        let choices = own.isEmpty ? matching : own
        guard choices.count > 1 else { return choices.first }
        throw AmbiguousOffer(choices)
    }
}

extension UserActivityOffer {
    /// The id as it is printed and typed.
    package var shownID: String { self.id.uuidString.lowercased() }

    /// Whether both are offers of one activity, by the same application of the same system.
    package func isSame(as other: UserActivityOffer) -> Bool {
        self.id == other.id && self.system.id == other.system.id && self.applicationID == other.applicationID
    }

    /// Whether the text names the offer's origin: its system, by its name or the beginning of its id, or its
    /// application, by the id.
    package func isFrom(_ text: String) -> Bool {
        var search = NameSearch(text, remembered: nil)
        search.saw(self.system.id, named: self.system.displayName)
        return search.matches(self.system.id) || self.applicationID == text
    }
}
