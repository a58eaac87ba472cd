// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

extension HostSettings {
    /// The settings that differ in `other` and need a restart to change.
    func needsRestart(to other: HostSettings) -> [HostSetting] {
        HostSetting.allCases.filter { setting in
            switch setting {
            case .network: self.network != other.network
            case .stateDirectory: self.stateDirectory != other.stateDirectory
            case .mediaPlayers: self.mediaPlayers != other.mediaPlayers
            case .documentRoots: self.documentRoots != other.documentRoots
            case .notifyOffers: self.notifyOffers != other.notifyOffers
            case .notifications: self.notifications != other.notifications
            case .mirroredApplications: self.mirroredApplications != other.mirroredApplications
            case .snoozeMinutes: self.snoozeMinutes != other.snoozeMinutes
            case .port, .displayName, .advertise, .startTimeout, .logLevel, .uriPolicy, .askProgram, .askTimeout: false
            }
        }
    }

    /// Translates the URLs of files between systems; `nil` without folders.
    func documents() -> DocumentURLMapper? {
        guard !self.documentRoots.isEmpty else { return nil }
        // The folders were checked when they were read.
        return try? DocumentURLMapper(roots: self.documentRoots.mapValues { URL(filePath: $0) })
    }

    /// Creates the launcher that opens URIs for other systems.
    func launcher(logger: Logger) async -> DesktopURILauncher {
        var policy = URISchemePolicy.standard
        policy.rules.merge(self.uriPolicy.filter { $0.key != "*" }) { $1 }
        policy.otherSchemes = self.uriPolicy["*"] ?? .deny
        if let askProgram {
            let asking = AskingProgram(
                askProgram,
                environment: ApplicationEnvironment.passedOn(
                    from: ProcessInfo.processInfo.environment,
                    stateDirectory: self.stateDirectory
                ),
                timeout: self.askTimeout,
                logger: logger
            )
            policy.ask = { try await asking.ask($0) }
        }
        return await DesktopURILauncher(policy: policy, stateDirectory: self.stateDirectory)
    }
}
