// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// Why calling an application over the bus brought no answer.
enum ActivationFailure: Error, Hashable {
    /// No answer in time, or the connection to the bus ended.
    case noResponse
    /// The bus, or the application, answered with this error.
    case error(name: String)
    /// There is no bus.
    case noBus

    init(_ failure: MessageBus.Failure) {
        // What the bus says before anything was called is about the bus.
        self = failure.wasCalled ? failure.name.map(Self.error) ?? .noResponse : .noBus
    }

    func decision(_ applicationID: String) -> LaunchURIDecision {
        switch self {
        case .noBus:
            return .unavailable(
                "\(applicationID) cannot be started: the session's bus cannot be reached.",
                canRetry: true
            )
        case .noResponse:
            return .unknown("\(applicationID) did not answer in time: whether it opened the URI is unknown.")
        case .error(let name) where Self.isSilence(name):
            return .unknown("\(applicationID) ended, or did not answer: whether it opened the URI is unknown.")
        case .error(let name) where name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") || Self.isAbsence(name):
            return .unavailable("\(applicationID) could not be started (\(name)).")
        case .error(let name):
            return .unavailable("\(applicationID) answered that it does not open it (\(name)).")
        }
    }

    /// It may have done something before.
    private static func isSilence(_ name: String) -> Bool {
        ["NoReply", "Timeout", "TimedOut", "Disconnected"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }

    private static func isAbsence(_ name: String) -> Bool {
        ["ServiceUnknown", "NameHasNoOwner"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }
}
