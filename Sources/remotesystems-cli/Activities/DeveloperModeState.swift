// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

/// Whether applications that are not signed hand over on this system, and why. Also the output with `--json`.
struct DeveloperModeState: Encodable {
    let event = "developer-mode"
    let time = Date.now
    /// The setting: `automatic`, `on` or `off`.
    var setting: String
    var isOn: Bool
    /// The number of publishers of the manifests of this system.
    var publishers: Int

    init(_ settings: HandOffSettings) {
        var logger = Logger(label: "remotesystems")
        logger.logLevel = .critical
        let registry = ApplicationRegistry(logger: logger)
        self.setting = settings.developerMode.rawValue
        self.publishers = registry.publishers.count
        self.isOn = settings.acceptsUnsigned(hasSignedManifests: registry.hasSignedManifests)
    }

    private var reason: String {
        guard self.setting == HandOffSettings.DeveloperMode.automatic.rawValue else { return "as set" }
        guard !self.isOn else { return "automatic: no signed application is installed" }
        return self.publishers > 0
            ? "automatic: a signed application is installed"
            : "automatic: a manifest with a damaged signature is installed"
    }

    /// The state in a sentence.
    var line: String {
        "Developer mode: \(self.isOn ? "on" : "off") (\(self.reason)). Applications that are not signed "
            + "\(self.isOn ? "hand over on systems of this account." : "do not hand over.")"
    }

    /// Reminds the user of a developer mode that was switched on.
    func remind(_ output: Output) { if self.isOn { output.note(self.line) } }

    /// The state as a finding of `doctor`.
    var finding: DiagnosisFinding {
        DiagnosisFinding(
            .developerMode,
            self.isOn && self.publishers > 0 ? .warning : .ok,
            self.line,
            why: "Applications hand activities over only to applications of the same publisher. In developer mode, "
                + "those without a proven publisher also take part.",
            advice: self.isOn && self.publishers > 0
                ? "Switch it off when it is not needed any more: 'remotesystems activities settings --developer-mode "
                    + "automatic'." : nil
        )
    }
}
