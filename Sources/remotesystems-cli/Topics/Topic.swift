// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsDesktop

/// The topics of `remotesystems topic`. An installed command has no other documentation.
enum Topic: String, CaseIterable, Encodable {
    case json
    case exitStatus = "exit-status"
    case host
    case manifest
    case findings
    case notifications

    /// The topic in one line.
    var summary: String {
        switch self {
        case .json: "what --json prints: events and their fields"
        case .exitStatus: "what the exit statuses mean"
        case .host: "the configuration of the host daemon"
        case .manifest: "the file that makes an application known to the host daemon"
        case .findings: "what 'remotesystems doctor' checks"
        case .notifications: "who may send notifications, and their limits"
        }
    }

    /// The text of the topic, in lines of at most 80 columns.
    var text: String {
        switch self {
        case .json: Self.jsonText
        case .exitStatus: Self.exitStatusText
        case .host: Self.hostText
        case .manifest: Self.manifestText
        case .findings: Self.findingsText
        case .notifications: Self.notificationsText
        }
    }

    private static let exitStatusText = """
        0   Success. For watch, serve, host run, call --listen, activities watch,
            activities notify and notifications watch also after Ctrl-C or SIGTERM.
        1   Completed with a negative result: nothing was found, a message was lost,
            the service failed, the input is invalid, nothing was opened, no answer
            came, a problem was found.
        2   Failed: a system or service could not be reached, the account cannot be
            used, a permission is missing, the output cannot be written, or a signal
            ended the command before its result. The message says what to do.
        64  The arguments are invalid.
        78  The configuration of 'remotesystems host' is invalid.
        """

    private static var hostText: String {
        let settings = HostSetting.allCases.map { setting in
            let text = "\(setting.meaning) Takes \(setting.takes). Defaults to \(setting.defaultText)."
            return "  \(setting.rawValue)\n    \(setting.variable)\n\(text.wrapped(indent: "    "))"
        }
        return """
            The host daemon reads $XDG_CONFIG_HOME/remote-systems/host.json (by default
            ~/.config/remote-systems/host.json), or the file that --config names. The file
            is optional. It contains one JSON object. Options override environment
            variables, which override the file. In a variable, several values are
            separated by commas. SIGHUP makes the daemon read the file again.

              {
                "displayName": "Living room",
                "uriPolicy": ["player=allow", "tel=ask"],
                "askProgram": ["/usr/bin/zenity", "--question", "--no-markup", "--text"]
              }

            The keys, each with its environment variable:

            \(settings.joined(separator: "\n"))

            'remotesystems host check' reports all problems in the file, with their lines.
            """
    }

    private static let manifestText = """
        An application's manifest is the file remote-systems/applications/ID.json in
        $XDG_DATA_HOME (by default ~/.local/share) or in a directory of $XDG_DATA_DIRS
        (by default /usr/local/share and /usr/share). The daemon's user or root must
        own the file and its directory, and no other user may write to them. It is a
        JSON object:

          {
            "id": "org.example.pinger",
            "displayName": "Pinger",
            "services": [{"name": "remote-systems.ping", "supportsRemote": true}],
            "start": {"exec": ["/usr/local/bin/remotesystems", "serve", "--port", "0",
                               "--application-id", "org.example.pinger"]}
          }

          id           string. The file must be named ID.json. The program must give
                       this id to its RemoteSystemHost.
          start        object with one key, below
          displayName  string, optional
          attributes   object of strings, optional
          services     array, optional; below
          schemes      array of strings, optional: the URI schemes that it opens
          activityTypes
                       array of strings, optional: the activities that it continues
          documentTypes
                       array, optional: the kinds of documents that it continues
          associatedDomains
                       array of strings, optional: the sites whose pages it shows
          notificationServiceExtension
                       object, optional: {"exec": ["/usr/libexec/pinger", ...]}, the
                       program that changes notifications before they are shown
          notificationContentExtensions
                       array, optional: exec, categories, defaultContentHidden,
                       initialContentSizeRatio; programs that show notifications
          notificationSounds
                       string, optional: the absolute path of the directory with the
                       sounds of its notifications (WAV, Ogg)
          executables  array of strings, optional: the absolute paths of the programs
                       that are the application. The program of 'start' counts, too;
                       an interpreter never does.
          units        array of strings, optional: service units in which it runs
          flatpaks     array of strings, optional: its Flatpak ids
          publisher    object, optional: id, keys and signature, as 'remotesystems app
                       sign' writes them
          requires     array of strings, optional: keys that the daemon must know. A
                       daemon that does not know one of them omits the application.
                       Other unknown keys are ignored.

        A service:

          name            string
          supportsRemote  true or false (the default): whether other machines see the
                          service and may call it
          callers         optional: "account" (the default), "sameApplication", or an
                          array of application ids
          requestSchema   object, optional: the schema of its requests
          responseSchema  object, optional: the schema of its responses
          pushRequestSchema, pushResponseSchema
                          objects, optional: the schemas of the requests that the
                          service sends, and of their responses
          version         string, optional
          summary         string, optional

        A kind of document:

          mediaTypes      array of strings, such as "text/markdown"
          activityType    string: the activity type with which they are handed over

        A way to start:

          {"dbus": "com.example.Player"}            D-Bus activation
          {"systemd": "player.service"}             a unit of the service manager
          {"desktop": "com.example.Player.desktop"} a desktop entry
          {"exec": ["/usr/bin/player", "--serve"]}  a program: absolute path, no shell

        'remotesystems host check' reports all problems, with file and line.
        """

    private static let findingsText = """
        'remotesystems doctor' prints findings. Each begins with its code, and says
        what was found, why it matters, and what to do.

          clock                the machine's clock
          account              the account and this system's role in it
          certificate          the validity of this system's certificate
          interfaces           the usable network interfaces
          multicast            whether they carry multicast
          avahi                which mDNS stack is used
          discovery            whether the search for systems works
          responders           whether several mDNS responders run on this machine
          port                 whether the port can be listened on
          avahi-configuration  features that avahi-daemon's configuration disables
          avahi-limits         how close Avahi is to limits at which it omits systems
          firewall             whether the packet filter allows mDNS and connections
          vpn                  whether a VPN captures this machine's traffic
          systems              the systems of the account that respond, and those that
                               are announced but do not respond
          other-accounts       the number of nearby systems of other accounts
          other-versions       nearby systems with another protocol version
          filters              filters that exclude reachable systems
          developer-mode       whether unsigned applications may hand activities over
          notifications        whether a host daemon receives notifications, they are
                               permitted and shown, and their store is sound

        With a system ('remotesystems doctor SYSTEM'):

          peer                 whether this machine can connect to it
          peer-connects-back   whether it can connect to this machine
          peer-multicast       whether each sees the other's announcement
          peer-clock           whether the two clocks agree
          peer-version         whether both use the same protocol version
        """
}
