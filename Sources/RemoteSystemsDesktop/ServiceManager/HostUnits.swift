// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The unit files by which systemd runs the host daemon, for one user or for the machine (`Docs/host-daemon.md`).
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

    package struct File: Sendable, Hashable {
        package var name: String
        package var text: String
    }

    package static let name = "remotesystems-host"
    /// Makes the system service's user for good.
    package static let makingUser = "systemd-sysusers --inline 'u \(name) - \"RemoteSystems host daemon\"'"
    /// The first line of what is written, by which it is known again.
    package static let mark = "# Written by 'remotesystems host install'."

    package var files: [File] {
        [
            File(name: "\(Self.name).service", text: self.service),
            File(name: "\(Self.name).socket", text: self.socket),
        ]
    }

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
        # One that falls again and again is left lying, to be seen.
        StartLimitIntervalSec=300
        StartLimitBurst=10

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart=\(self.escapedProgram) host run\(self.isSystem ? " --config-if-present /etc/remote-systems/host.json" : "")
        ExecReload=/bin/kill -HUP $MAINPID
        WatchdogSec=30
        Restart=on-failure
        RestartSec=2
        # What it says no to, another try does not change: a configuration that is not understood (78), arguments that make no sense (64),
        # a port or an account that it cannot have (2).
        RestartPreventExitStatus=2 64 78
        TimeoutStopSec=15
        # Applications that it has started as programs outlive it; they are no part of it.
        KillMode=process
        \(self.isSystem ? self.systemIdentity : "")
        # What follows is also true of programs that are started by an 'exec' or a 'desktop' entry; those that D-Bus or systemd
        # starts are free of it. What would keep ordinary applications from working is therefore left out, each with its reason.
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

    /// systemd.service(5), "Command lines".
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
        # A user of its own that owns nothing but its state. One that was made for good is used if it is there: the system bus may not
        # let others in (github.com/systemd/systemd/issues/22737).
        DynamicUser=true
        User=\(Self.name)
        StateDirectory=remote-systems
        StateDirectoryMode=0700
        Environment=REMOTE_SYSTEMS_STATE=%S/remote-systems

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
        # Programs that make code as they run (browsers, most scripting languages) cannot be started by this service; let D-Bus or
        # systemd start those.
        MemoryDenyWriteExecute=true

        """
    }

    private var userHardening: String {
        """
        # Browsers confine their own parts with these.
        SystemCallFilter=@mount chroot seccomp
        # Left out, since desktop applications that it starts need what they take away:
        # MemoryDenyWriteExecute (browsers and other programs that make code as they run), RestrictNamespaces (browsers again),
        # ProtectHome and ProtectSystem (documents; and a user's service manager can set them only with namespaces of its own),
        # PrivateDevices (sound, graphics, cameras), PrivateTmp (X11's sockets, files that applications pass to each other),
        # UMask (what they save would be for nobody else).

        """
    }
}
