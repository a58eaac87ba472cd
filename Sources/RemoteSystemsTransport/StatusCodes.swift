// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A status that frames carry as one of Project Rome's numbers. Numbers that this version does not know are preserved.
package protocol WireStatus: RawRepresentable, Sendable, Hashable where RawValue == UInt64 {
    init(rawValue: UInt64)
}

/// The reason why a connection ended, with Project Rome's numbers.
package struct CloseStatus: WireStatus {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let completed = CloseStatus(rawValue: 0)
    package static let cancelled = CloseStatus(rawValue: 1)
    package static let resourceLimitsExceeded = CloseStatus(rawValue: 2)
    package static let unknown = CloseStatus(rawValue: 3)
}

/// The outcome of a request, with Project Rome's numbers.
package struct ResponseStatus: WireStatus {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let success = ResponseStatus(rawValue: 0)
    package static let failure = ResponseStatus(rawValue: 1)
    package static let resourceLimitsExceeded = ResponseStatus(rawValue: 2)
    package static let unknown = ResponseStatus(rawValue: 3)
    package static let remoteSystemUnavailable = ResponseStatus(rawValue: 4)
    package static let messageTooLarge = ResponseStatus(rawValue: 5)
    package static let connectionClosed = ResponseStatus(rawValue: 6)
}

/// The outcome of opening a connection, with Project Rome's numbers.
package struct OpenStatus: WireStatus {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let success = OpenStatus(rawValue: 0)
    package static let appNotInstalled = OpenStatus(rawValue: 1)
    package static let appUnavailable = OpenStatus(rawValue: 2)
    package static let appServiceUnavailable = OpenStatus(rawValue: 3)
    package static let unknown = OpenStatus(rawValue: 4)
    package static let remoteSystemUnavailable = OpenStatus(rawValue: 5)
    package static let remoteSystemNotSupportedByApp = OpenStatus(rawValue: 6)
    package static let notAuthorized = OpenStatus(rawValue: 7)
}
