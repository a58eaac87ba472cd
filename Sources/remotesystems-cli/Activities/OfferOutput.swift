// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import UserActivities

/// The output of an offer with `--json`.
struct OfferOutput: Encodable {
    var event: String
    let time = Date.now
    var id: String
    var type: String
    var title: String?
    var systemID: SystemID
    var system: String
    /// The account of the system, and its name, if it is a linked one.
    var accountID: AccountID?
    var accountName: String?
    var application: String
    /// The id of the publisher, if the offer's system states one.
    var publisher: PublisherID?
    /// Whether the publisher is proven.
    var proof: String
    var streams: Bool
    var webpage: Bool
    var version: Int?
    var target: String?
    var expires: Date

    init(event: String, _ offer: UserActivityOffer) {
        self.event = event
        self.id = offer.shownID
        self.type = offer.activityType
        self.title = offer.title
        self.systemID = offer.system.id
        self.system = offer.system.displayName
        if offer.system.authorizationKind == .linked {
            self.accountID = offer.system.accountID
            self.accountName = offer.system.accountName
        }
        self.application = offer.applicationID
        self.publisher = offer.publisher.id
        self.proof = offer.publisher.proof
        self.streams = offer.supportsContinuationStreams
        self.webpage = offer.hasWebpage
        self.version = offer.payloadVersion
        self.target = offer.targetContentIdentifier
        self.expires = offer.expirationDate
    }
}

extension UserActivityOffer {
    static let heading =
        "\("ID".padded(to: 8)) \("SYSTEM".padded(to: RemoteSystem.columnWidth)) \("TYPE".padded(to: 24)) "
        + "\("PUBLISHER".padded(to: 9)) TITLE"

    /// The offer in one line, under ``heading``.
    ///
    /// - Parameters:
    ///   - names: The names of the known systems.
    ///   - width: The maximum width, in columns. `nil` for no limit, for files and pipes.
    func line(_ names: SystemNames, width: Int?) -> String {
        let system = self.system.column(names, isCut: width != nil)
            .padded(to: RemoteSystem.columnWidth, isCut: false)
        let type = self.activityType.printable.padded(to: 24, isCut: width != nil)
        let start = "\(self.shownID.prefix(8)) \(system) \(type) \(self.publisher.column.padded(to: 9)) "
        let title = (self.title ?? self.applicationDisplayName).printable
        return start + (width.map { title.cut(to: $0 - start.columns) } ?? title)
    }
}

extension RemoteSystem {
    fileprivate static let columnWidth = 20

    /// The name in a column. A long one must not hide the beginning of the id, which is shown if another system has a
    /// name like it, or that the system belongs to a linked account. With both, the column is wider.
    fileprivate func column(_ names: SystemNames, isCut: Bool) -> String {
        let name = self.displayName.printable
        let id = names.id(beside: self.displayName, of: self.id).map { " (\($0))" } ?? ""
        let account = self.accountName.map { " (of \(isCut ? $0.printable.cut(to: 6) : $0.printable))" } ?? ""
        let width = max(Self.columnWidth - id.columns - account.columns, 6)
        return (isCut ? name.cut(to: width) : name) + id + account
    }
}

extension SystemNames {
    /// The names of the account's systems that this machine knows.
    init(_ configuration: RemoteSystemsConfiguration) {
        self = (try? RemoteSystemsAccount(configuration).systemNames()) ?? SystemNames()
    }

    /// The names with those of listed systems.
    func adding(_ systems: [RemoteSystem]) -> SystemNames {
        var names = self
        for system in systems { names.add(system.displayName, of: system.id) }
        return names
    }
}

extension ApplicationPublisher {
    /// The publisher in a column: the beginning of its id if it is proven.
    fileprivate var column: String {
        if case .proven(let id) = self { id.short } else { self.proof }
    }
}
