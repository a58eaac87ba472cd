// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// What `remotesystems topic` explains. An installed command has no other documentation beside it.
enum Topic: String, CaseIterable, Encodable {
    case json
    case exitStatus = "exit-status"
    case host
    case manifest
    case findings

    /// In a line.
    var summary: String {
        switch self {
        case .json: "what --json prints: events and their fields"
        case .exitStatus: "what the exit statuses mean"
        case .host: "the configuration of the host daemon"
        case .manifest: "the file that makes an application known to the host daemon"
        case .findings: "what 'remotesystems doctor' looks at"
        }
    }

    /// Lines of at most 80 columns.
    var text: String {
        switch self {
        case .json: Self.jsonText
        case .exitStatus: Self.exitStatusText
        case .host: Self.hostText
        case .manifest: Self.manifestText
        case .findings: Self.findingsText
        }
    }

    private static let exitStatusText = """
        0   Done. For watch, serve, host run and call --listen also when Ctrl-C or
            SIGTERM ended them.
        1   Done, and the answer is no: nothing was found, a message was lost, the
            service failed, the input is not valid, nothing was opened, a problem
            was found.
        2   Not done: a system or the service could not be reached, the account
            cannot be used, a right is missing, the output cannot be written. The
            message says what to do.
        64  The arguments make no sense.
        78  The configuration of 'remotesystems host' is not understood.
        """

    private static var hostText: String {
        let settings = HostSetting.allCases.map { setting in
            let takes = "Takes \(setting.takes).".wrapped(indent: "    ")
            return "  \(setting.rawValue)\n    \(setting.variable)\n\(takes)"
        }
        return """
            The host daemon reads $XDG_CONFIG_HOME/remote-systems/host.json (by default
            ~/.config/remote-systems/host.json), or the file that --config names. It is a
            JSON object. No file is needed. Options come before environment variables,
            and those before the file. In a variable several values have commas between
            them. SIGHUP makes the daemon read it again.

              {
                "displayName": "Living room",
                "uriPolicy": ["player=allow", "tel=ask"],
                "askProgram": ["/usr/bin/zenity", "--question", "--no-markup", "--text"]
              }

            Keys, with the environment variable of each:

            \(settings.joined(separator: "\n"))

            'remotesystems host check' reports what is wrong in the file, with the line.
            """
    }

    private static let manifestText = """
        An application's manifest is the file remote-systems/applications/ID.json in
        $XDG_DATA_HOME (by default ~/.local/share) or in a directory of $XDG_DATA_DIRS
        (by default /usr/local/share and /usr/share). It is a JSON object:

          {
            "id": "org.example.pinger",
            "displayName": "Pinger",
            "services": [{"name": "remote-systems.ping", "supportsRemote": true}],
            "start": {"exec": ["/usr/local/bin/remotesystems", "serve", "--port", "0",
                               "--application-id", "org.example.pinger"]}
          }

          id           string; the file is called ID.json. The id that the program
                       gives its RemoteSystemHost.
          start        object with one key, below
          displayName  string, optional
          attributes   object of strings, optional
          services     array, optional; below
          schemes      array of strings, optional: schemes of URIs that it opens
          requires     array of strings, optional: keys that a daemon must know, or else
                       leave the application alone; others it does not know it ignores

        A service:

          name            string
          supportsRemote  true or false (the default): whether other machines may
                          call it, and are told of it
          callers         optional: "account" (the default), "sameApplication", or an
                          array of application ids
          requestSchema   object, optional: which requests it takes
          responseSchema  object, optional: which responses it gives
          pushRequestSchema, pushResponseSchema
                          objects, optional: the same for what it sends by itself
          version         string, optional
          summary         string, optional

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
          account              the account and this system's place in it
          certificate          how long this system's certificate lives
          interfaces           the network interfaces that may be used
          multicast            whether they carry multicast
          avahi                which mDNS stack is used
          discovery            whether looking for systems works
          responders           whether several programs answer mDNS on this machine
          port                 whether the port can be listened on
          avahi-configuration  what avahi-daemon is configured not to do
          avahi-limits         how near Avahi is to where it leaves systems out
          firewall             whether the packet filter lets mDNS and connections in
          vpn                  whether a VPN takes this machine's traffic
          systems              the systems of the account that answer, and those that
                               are announced and do not
          other-accounts       how many systems nearby belong to other accounts
          other-versions       systems nearby that speak another protocol version
          filters              filters that leave out systems that are there

        With a system ('remotesystems doctor SYSTEM'):

          peer                 whether it can be connected to from here
          peer-connects-back   whether it can connect to this one
          peer-multicast       whether each sees the other's announcement
          peer-clock           whether the two clocks agree
          peer-version         whether the two speak the same version
        """
}
