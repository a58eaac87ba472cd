// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities
import UserNotifications
import WebAssociations

/// The reason why a subcommand failed, as it is printed.
struct Failure: Error, Encodable {
    /// The exit status of every failure except an invalid configuration.
    static let usualExitStatus: Int32 = 2
    /// The `error` of an invalid configuration. Retrying cannot succeed.
    static let misconfigured = "misconfigured"

    let event = "failed"
    let time = Date.now
    var error: String
    /// The code of the underlying error, if known.
    var reason: String?
    var message: String
    var side = RemoteSystemError.Side.local
    var canRetry = false
    var byteOffset: Int?
    var keyPath: String?
    /// The systems that a name may mean.
    var systemIDs: [SystemID]?
    /// The activity that was not continued, of a command that continues several: its id, its type, and the id and the
    /// name of the system that offers it.
    var id: String?
    var type: String?
    var systemID: SystemID?
    var system: String?

    /// The exit status: 78 (`EX_CONFIG` of sysexits.h) for an invalid configuration, so that a service manager can
    /// distinguish it from a temporary failure.
    var exitStatus: Int32 { self.error == Self.misconfigured ? 78 : Self.usualExitStatus }

    init(_ error: String, _ message: String, canRetry: Bool = false) {
        self.error = error
        self.message = message
        self.canRetry = canRetry
    }

    init(_ error: any Error) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as RemoteSystemError:
            self.init("\(error.code)", error.message, canRetry: error.canRetry)
            self.side = error.side
            self.reason = (error.cause as? IdentityError).map { "\($0.code)" }
        case let error as ContinuationError:
            self.init("\(error.code)", error.message, canRetry: error.canRetry)
            self.side = error.side
        case let error as AssociationFailure:
            self.init("association", error.message, canRetry: [.unreachable, .timedOut].contains(error.code))
            self.reason = error.code.rawValue
        case let error as NotificationError:
            self.init("\(error.code)", "\(error)", canRetry: error.code == .rateLimited)
            self.keyPath = error.field
        case let error as IdentityError:
            self.init("\(RemoteSystemError.Code.identity)", error.message)
            self.reason = "\(error.code)"
        case let error as ValueSetError:
            self.init("\(RemoteSystemError.Code.invalidMessage)", "\(error)")
            self.reason = "\(error.code)"
            self.byteOffset = error.byteOffset
            self.keyPath = error.keyPath.isEmpty ? nil : error.keyPath
        case let error as ConfigurationFileError:
            self.init(Self.misconfigured, "\(error)")
        case let error as HostSettingsProblems:
            self.init(Self.misconfigured, error.problems.map { Failure($0).message }.joined(separator: "\n"))
        case is CancellationError:
            self.init("cancelled", "The command was cancelled before it completed.", canRetry: true)
        default:
            self.init("\(RemoteSystemError.Code.localResources)", "An unexpected error occurred: \(error)")
        }
    }

    func report(_ output: Output) throws {
        try output.json(self)
        guard !output.isJSON else { return }
        for line in self.message.split(separator: "\n") { output.complain(String(line).printable) }
    }
}
