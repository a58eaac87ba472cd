// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Measures where this system is.
package protocol LocationSource: Sendable {
    /// The locations from now on, each time the system has moved, until the task ends.
    ///
    /// - Parameter distance: the distance in metres below which a movement need not be reported.
    /// - Returns: ends with an error if locations cannot be measured any more.
    func locations(distance: Double) -> AsyncThrowingStream<NotificationLocation, any Error>
}
