// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// An offer as one program of a system names it to another.
struct OfferReference: Sendable, Hashable {
    var activity: UUID
    var type: String
    var system: SystemID
    var application: String
    /// The connection token of the offering application, which leads to it without discovery.
    var token: String
    /// Whether only the web address is wanted, for a browser.
    var isWebpageOnly = false

    var message: ValueSet {
        [
            "Activity": .uuid(self.activity), "Type": .string(self.type), "System": .string("\(self.system)"),
            "Application": .string(self.application), "Token": .string(self.token),
        ]
    }

    init(activity: UUID, type: String, system: SystemID, application: String, token: String) {
        self.activity = activity
        self.type = type
        self.system = system
        self.application = application
        self.token = token
    }

    init?(_ message: ValueSet) {
        guard let activity = message["Activity"]?.uuid, let type = message["Type"]?.string,
            ActivityTypeName.isValid(type), let system = message["System"]?.string.flatMap({ SystemID($0) }),
            let application = message["Application"]?.string, application.isName,
            let token = message["Token"]?.string
        else { return nil }
        self.init(activity: activity, type: type, system: system, application: application, token: token)
    }
}

extension OfferReference {
    /// - Throws: ``ContinuationError`` if the application that offered the activity does not run any more.
    init(_ offer: UserActivityOffer) throws(ContinuationError) {
        guard let application = offer.system.application(offer.applicationID) else { throw .applicationGone }
        self.init(
            activity: offer.id,
            type: offer.activityType,
            system: offer.system.id,
            application: offer.applicationID,
            token: application.connectionToken
        )
    }
}
