// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The parameters of an accepted stream, for either side.
package struct EstablishedStream: Sendable {
    package var acceptance: Acceptance
    package var limits: StreamLimits
    /// Called once, on the event loop, when the stream opens.
    package var opened: @Sendable (StreamConnection) -> Void

    package init(
        acceptance: Acceptance,
        limits: StreamLimits,
        opened: @escaping @Sendable (StreamConnection) -> Void
    ) {
        self.acceptance = acceptance
        self.limits = limits
        self.opened = opened
    }
}

/// The use of an open connection: for messages or for a stream.
enum EstablishedChannel: Sendable {
    case messages(EstablishedConnection)
    case stream(EstablishedStream)

    var acceptance: Acceptance {
        switch self {
        case .messages(let accepted): accepted.acceptance
        case .stream(let accepted): accepted.acceptance
        }
    }
}
