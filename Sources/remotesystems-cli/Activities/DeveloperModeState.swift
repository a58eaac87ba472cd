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
        let registry = ApplicationRegistry.silent
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
    ///
    /// - Parameter state: the options of the command, for the advice.
    func finding(_ state: StateOptions) -> DiagnosisFinding {
        DiagnosisFinding(
            .developerMode,
            self.isOn && self.publishers > 0 ? .warning : .ok,
            self.line,
            why: "Applications hand activities over only to applications of the same publisher. In developer mode, "
                + "those without a proven publisher also take part.",
            advice: self.isOn && self.publishers > 0
                ? state.complete(
                    "Switch it off when it is not needed any more: 'remotesystems activities settings "
                        + "--developer-mode automatic'."
                ) : nil
        )
    }
}

extension ApplicationRegistry {
    /// The manifests of this machine, whose problems are not logged. `host check` reports them.
    static var silent: ApplicationRegistry {
        var logger = Logger(label: "remotesystems")
        logger.logLevel = .critical
        return ApplicationRegistry(logger: logger)
    }
}

extension UserActivityWatcher {
    /// Creates a watcher of this account's and linked accounts' systems that also knows of signed manifests that are
    /// damaged.
    static func knowingManifests(_ configuration: RemoteSystemsConfiguration) -> UserActivityWatcher {
        let hasSignedManifests = ApplicationRegistry.silent.hasSignedManifests
        return UserActivityWatcher(configuration, filters: .withLinkedAccounts) { hasSignedManifests }
    }
}

extension StateOptions {
    /// Names the state directory in the commands of an advice that change settings. Without it, they would change those
    /// of the user's own account.
    func complete(_ advice: String) -> String {
        guard let directory else { return advice }
        let command = "'remotesystems activities settings"
        return advice.replacing(command, with: "\(command) --state-directory \(directory.shellWord)")
    }
}

extension String {
    /// The text as one word for a shell. With backslashes, since the commands of an advice are between quotes.
    fileprivate var shellWord: String {
        self.reduce(into: "") { word, character in
            let isPlain = !character.isASCII || character.isLetter || character.isNumber
            word += isPlain || "/._-+,:@%".contains(character) ? "\(character)" : "\\\(character)"
        }
    }
}
