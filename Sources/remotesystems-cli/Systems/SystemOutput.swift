// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

/// The output of a system with `--json`.
struct SystemOutput: Encodable {
    struct Application: Encodable {
        var id: String
        var name: String
        var attributes: [String: String]
        var services: [String]
    }

    var event: String
    let time = Date.now
    var id: SystemID
    var name: String
    var kind: RemoteSystemKind
    var status: String
    var platform: String
    var manufacturer: String?
    var model: String?
    var discovery: String
    var authorization: String
    var accountID: AccountID?
    var accountName: String?
    var isLocal: Bool
    var capabilities: [String]
    var applications: [Application]

    init(event: String, _ system: RemoteSystem) {
        self.event = event
        self.id = system.id
        self.name = system.displayName
        self.kind = system.kind
        self.status = "\(system.status)"
        self.platform = "\(system.platform)"
        self.manufacturer = system.manufacturerDisplayName
        self.model = system.modelDisplayName
        self.discovery = "\(system.discoveryType)"
        self.authorization = "\(system.authorizationKind)"
        if system.authorizationKind == .linked {
            self.accountID = system.accountID
            self.accountName = system.accountName
        }
        self.isLocal = system.isLocal
        self.capabilities = system.capabilities
        self.applications = system.applications.map {
            Application(
                id: $0.id,
                name: $0.displayName,
                attributes: $0.attributes,
                services: $0.services.map(\.name)
            )
        }
    }
}

/// The output of an event that does not concern one system, with `--json`.
struct MarkOutput: Encodable {
    var event: String
    let time = Date.now
    /// The number of listed systems.
    var systems: Int?
    /// The number of reachable systems that the filters exclude.
    var excluded: Int?
    var code: Int?
    var message: String?
    var recoversByItself: Bool?

    static func enumerationCompleted(systems: Int, excluded: Int) -> MarkOutput {
        MarkOutput(event: "enumeration-completed", systems: systems, excluded: excluded)
    }

    static func error(_ error: RemoteSystemWatcherError) -> MarkOutput {
        MarkOutput(
            event: "error",
            code: error.code.rawValue,
            message: error.message,
            recoversByItself: error.recoversByItself
        )
    }
}

extension RemoteSystem {
    /// The names of the capabilities that the system supports.
    var capabilities: [String] {
        let known: [RemoteSystemCapability] = [.appService, .launchURI, .remoteSession, .spatialEntity]
        return known.filter { self.supports($0) }.map(\.rawValue)
    }

    static let heading =
        "\("NAME".padded(to: 22)) \("KIND".padded(to: 8)) \("ID".padded(to: 8)) APPLICATIONS"

    /// The system in one line, under ``heading``.
    ///
    /// - Parameter width: The maximum width, in columns. `nil` for no limit, for files and pipes.
    func line(width: Int?) -> String {
        let name =
            self.displayName.printable + (self.isLocal ? " (this one)" : "")
            + (self.accountName.map { " (of \($0.printable))" } ?? "")
        let isCut = width != nil
        let start =
            "\(name.padded(to: 22, isCut: isCut)) \(self.kind.rawValue.printable.padded(to: 8, isCut: isCut)) "
            + "\(self.id.short.padded(to: 8)) "
        let applications = self.applications.map(\.id.printable).joined(separator: ", ")
        return start + (width.map { applications.cut(to: $0 - start.columns) } ?? applications)
    }
}
