// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The systemd unit files of the host daemon, for one user or for the machine (`Docs/host-daemon.md`).
package struct HostUnits: Sendable {
    /// The absolute path of `remotesystems`.
    package var program: String
    package var isSystem: Bool
    package var port: Int

    package init(program: String, isSystem: Bool, port: Int) {
        self.program = program
        self.isSystem = isSystem
        self.port = port
    }

    /// A unit file: its name and its content.
    package struct File: Sendable, Hashable {
        package var name: String
        package var text: String
    }

    package static let name = "remotesystems-host"
    /// The command that creates a permanent user for the system service.
    package static let makingUser = "systemd-sysusers --inline 'u \(name) - \"RemoteSystems host daemon\"'"
    /// The first line of a written file, by which `remotesystems host uninstall` recognises it.
    package static let mark = "# Written by 'remotesystems host install'."

    package var files: [File] {
        [
            File(name: "\(Self.name).service", text: self.service),
            File(name: "\(Self.name).socket", text: self.socket),
        ]
    }

    /// The files by which a session bus starts the user's daemon for a program that needs it; none for the machine's
    /// daemon, which is on no session bus.
    package var busFiles: [File] {
        guard !self.isSystem else { return [] }
        let program = self.program.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return zip(Self.busNames, Self.busFileNames).map { name, file in
            File(
                name: file,
                text: """
                    \(Self.mark)
                    [D-BUS Service]
                    Name=\(name)
                    # Used by a bus without systemd.
                    Exec="\(program)" host run
                    SystemdService=\(Self.name).service

                    """
            )
        }
    }
    package static let busFileNames = Self.busNames.map { "\($0).service" }
    private static let busNames = [
        RegistryName.bus, ActivityBusInterface.name, NotificationBusInterface.interface.name,
    ]

    private var socket: String {
        """
        \(Self.mark) Change it with 'systemctl \(self.isSystem ? "" : "--user ")edit \(Self.name).socket'.
        [Unit]
        Description=RemoteSystems host daemon, its port
        Documentation=man:systemd.socket(5)

        [Socket]
        # IPv6 and IPv4. Only systems of the account get further than the handshake.
        ListenStream=\(self.port)
        NoDelay=true

        [Install]
        WantedBy=sockets.target

        """
    }

    private var service: String {
        """
        \(Self.mark) Change it with 'systemctl \(self.isSystem ? "" : "--user ")edit \(Self.name).service'.
        [Unit]
        Description=RemoteSystems host daemon
        Requires=\(Self.name).socket
        After=\(Self.name).socket\(self.isSystem ? " network.target avahi-daemon.service dbus.service" : " dbus.socket")
        # A daemon that keeps failing is not restarted, so that the failure is visible.
        StartLimitIntervalSec=300
        StartLimitBurst=10

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart=\(self.escapedProgram) host run\
        \(self.isSystem ? " --config-if-present /etc/remote-systems/host.json" : "")
        ExecReload=/bin/kill -HUP $MAINPID
        WatchdogSec=30
        Restart=on-failure
        RestartSec=2
        # A restart cannot fix invalid settings (78), invalid arguments (64), or an unusable port or account (2).
        RestartPreventExitStatus=2 64 78
        TimeoutStopSec=15
        # Applications that the daemon started as programs keep running when it stops.
        KillMode=process
        # Each connection is a file. Programs that the daemon starts get a lower limit of 1024, and may raise it.
        LimitNOFILE=4096:524288
        \(self.isSystem ? self.systemIdentity : "")
        # The following settings also apply to programs that an 'exec' or a 'desktop' entry starts, but not to those
        # that D-Bus or systemd starts. Settings that would break ordinary applications are omitted, with reasons.
        NoNewPrivileges=true
        LockPersonality=true
        RestrictRealtime=true
        RestrictSUIDSGID=true
        SystemCallArchitectures=native
        # AF_NETLINK: addresses and interfaces, for mDNS. AF_UNIX: D-Bus, Avahi, the journal.
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
        SystemCallFilter=@system-service
        SystemCallErrorNumber=EPERM
        \(self.isSystem ? self.systemHardening : self.userHardening)
        [Install]
        WantedBy=\(self.isSystem ? "multi-user.target" : "default.target")

        """
    }

    /// The program's path, escaped as systemd.service(5), "Command lines", requires.
    private var escapedProgram: String {
        let escaped = self.program.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
            "%",
            with: "%%"
        )
        .replacing("$", with: "$$")
        return escaped.contains(" ") || escaped != self.program ? "\"\(escaped)\"" : escaped
    }

    private var systemIdentity: String {
        """
        # A dedicated user that owns only the state and a cache. A permanent user of this name is used if it exists: the
        # system bus may refuse a dynamic one (github.com/systemd/systemd/issues/22737).
        DynamicUser=true
        User=\(Self.name)
        StateDirectory=remote-systems
        StateDirectoryMode=0700
        Environment=REMOTE_SYSTEMS_STATE=%S/remote-systems
        CacheDirectory=remote-systems
        CacheDirectoryMode=0700
        Environment=XDG_CACHE_HOME=%C

        """
    }

    private var systemHardening: String {
        """
        SystemCallFilter=~@privileged @resources
        RestrictNamespaces=true
        UMask=0077
        ProtectSystem=strict
        ProtectHome=true
        PrivateTmp=true
        PrivateDevices=true
        ProtectKernelTunables=true
        ProtectKernelModules=true
        ProtectKernelLogs=true
        ProtectControlGroups=true
        ProtectClock=true
        ProtectHostname=true
        ProtectProc=invisible
        ProcSubset=all
        CapabilityBoundingSet=
        AmbientCapabilities=
        # This service cannot start programs that generate code at run time (browsers, most scripting languages). Let
        # D-Bus or systemd start them.
        MemoryDenyWriteExecute=true

        """
    }

    private var userHardening: String {
        """
        # Browsers use these for their sandboxes.
        SystemCallFilter=@mount chroot seccomp
        # Omitted, because desktop applications that the daemon starts need what these settings forbid:
        # - MemoryDenyWriteExecute (browsers and other programs that generate code at run time),
        # - RestrictNamespaces (browsers),
        # - ProtectHome and ProtectSystem (documents; a user's service manager needs its own namespaces to set them),
        # - PrivateDevices (sound, graphics, cameras),
        # - PrivateTmp (X11's sockets, files that applications pass to each other),
        # - UMask (other users could not read saved files).

        """
    }
}
