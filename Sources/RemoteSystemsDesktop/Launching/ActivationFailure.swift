// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// The reason why a D-Bus call to an application failed.
enum ActivationFailure: Error, Hashable {
    /// No response came in time, or the connection to the bus ended.
    case noResponse
    /// The bus or the application returned this error.
    case error(name: String)
    /// The bus could not be reached.
    case noBus

    init(_ failure: MessageBus.Failure) {
        // An error before the call was sent concerns the bus.
        self = failure.wasCalled ? failure.name.map(Self.error) ?? .noResponse : .noBus
    }

    func decision(_ applicationID: String) -> LaunchURIDecision {
        switch self {
        case .noBus:
            return .unavailable(
                "\(applicationID) cannot be started: the session bus cannot be reached.",
                canRetry: true
            )
        case .noResponse:
            return .unknown("\(applicationID) did not respond in time. Whether it opened the URI is unknown.")
        case .error(let name) where Self.isSilence(name):
            return .unknown("\(applicationID) ended or did not respond. Whether it opened the URI is unknown.")
        case .error(let name) where name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") || Self.isAbsence(name):
            return .unavailable("\(applicationID) could not be started (\(name)).")
        case .error(let name):
            return .unavailable("\(applicationID) refused to open the URI (\(name)).")
        }
    }

    /// Whether the error means that no response came. The application may have acted.
    private static func isSilence(_ name: String) -> Bool {
        ["NoReply", "Timeout", "TimedOut", "Disconnected"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }

    /// Whether the error means that the bus name has no owner.
    private static func isAbsence(_ name: String) -> Bool {
        ["ServiceUnknown", "NameHasNoOwner"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }
}
