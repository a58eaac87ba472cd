// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsDesktop

/// The explanations of the settings in `remotesystems topic host`.
extension HostSetting {
    /// What the setting is for, as a sentence.
    var meaning: String {
        switch self {
        case .port: "The TCP port to listen on; 0 for any free one. Ignored if systemd passes a socket."
        case .network: "The interfaces on which the daemon announces itself, accepts and opens connections."
        case .stateDirectory: "The directory of the account."
        case .displayName: "The name that other systems see."
        case .advertise: "Whether the daemon announces itself. If not, it is found by its address only."
        case .startTimeout: "The time for an application to start."
        case .logLevel: "The lowest level that is logged."
        case .uriPolicy: "Which URIs other systems may open here."
        case .askProgram: "The program that asks the user about a URI with the rule 'ask'. Exit status 0 means yes."
        case .askTimeout: "The time that the user has for an answer."
        case .mediaPlayers: "Whether what media players play is handed over."
        case .documentRoots: "The folders whose files media players hand over."
        case .notifyOffers: "Whether activities that can be continued here are shown as notifications."
        case .notifications: "Whether notifications of other systems are received."
        case .mirroredApplications: "The applications whose notifications here also appear on the other systems."
        case .snoozeMinutes: "The time for which the button 'Later' of a question hides it; 0 for no button."
        }
    }

    /// The default, as a phrase after "Defaults to".
    var defaultText: String {
        switch self {
        case .port: "\(RemoteSystemHost.defaultPort)"
        case .network: "\"all\""
        case .stateDirectory:
            "$REMOTE_SYSTEMS_STATE, then $XDG_STATE_HOME/remote-systems, then ~/.local/state/remote-systems"
        case .displayName: "the machine's name"
        case .advertise, .notifications: "true"
        case .startTimeout: "10"
        case .logLevel: "notice"
        case .uriPolicy: "allow for http, https, mailto, tel, sms and geo, and to deny for others"
        case .askProgram, .documentRoots, .mirroredApplications: "none"
        case .askTimeout: "20"
        case .mediaPlayers, .notifyOffers: "false"
        case .snoozeMinutes: "0"
        }
    }
}
