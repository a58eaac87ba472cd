// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Logs the activities that were refused because of the publishers of the applications. A peer can cause any number, so
/// only the first few in a minute are logged, and the others are counted.
package struct RefusalLog: Sendable {
    private let incidents: IncidentLog

    package init(_ configuration: RemoteSystemsConfiguration) {
        self.incidents = IncidentLog(configuration.logger)
    }

    package func report(by system: SystemID, _ metadata: [String: String]) {
        self.incidents.report(.activityRefused, by: system, metadata.mapValues { .string($0) })
    }
}
