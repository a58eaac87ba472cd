// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging
public import RemoteSystemsDiscovery

/// How this process takes part: whose account, which network, which limits. The defaults are meant to be used.
public struct RemoteSystemsConfiguration: Sendable {
    /// The part of the machine's network that is used, for finding, for being found and for listening.
    public enum Network: Sendable, Hashable {
        /// Every interface.
        case all
        /// This machine alone: nothing is announced to, sent to, or taken from the network. Connecting to another machine's
        /// address fails with ``RemoteSystemError/Code/misuse``, and so does connecting to a name other than `localhost`, for
        /// which the network would have to be asked.
        case loopback
        /// The interfaces with these names, for example `["eth0"]`, and what stays on this machine. Announcements, and connections in
        /// both directions, keep to them, whatever addresses they have at the time; one that comes later, or comes back, is
        /// used within about a second. Needs Linux 5.7, or the right to use raw sockets.
        case interfaces([String])
    }

    /// The id of this application, in reverse-DNS form. Others see it as the caller; a host is found under it.
    public var applicationID: String
    /// The name that this system shows to others of the account; `nil` for the machine's own name.
    public var systemDisplayName: String?
    /// Where the account and this system's keys are kept; `nil` for the user's own place (``AccountStore``).
    public var stateDirectory: String?
    /// The part of the network that is used.
    public var network: Network
    /// Where to look for systems and announce this one; `nil` for mDNS on ``network``.
    public var discovery: [any DiscoverySource]?
    /// How long a request waits for its answer unless the caller says otherwise. 30 s unless set.
    public var requestTimeout = Duration.seconds(30)
    /// How long opening a connection may take, for each address tried. 5 s unless set.
    public var connectTimeout = Duration.seconds(5)
    /// How much longer it may take when the other system has answered, and has to start the application first. 15 s unless
    /// set, which is more than the 10 s in which a host gives up unless told otherwise: where one is
    /// (``RemoteSystemHost/Options/startTimeout``), set this to more than that. What has a timeout of its own for all of it,
    /// such as ``AppServiceConnection/sendStateless(_:to:request:timeout:idempotencyKey:)``, goes by that.
    public var startTimeout = Duration.seconds(15)
    /// Silence after which a connection counts as lost. 15 s unless set; between 1 s and 1 h.
    public var deadPeerTime = Duration.seconds(15)
    /// The largest message taken from others, in bytes on the wire. 1 MiB unless set; between 1 KiB and 16 MiB.
    public var messageLimit = 1 << 20
    /// How many requests others may have with us at once on one connection. 128 unless set.
    public var requestWindow = 128
    /// How many connections a host has at once, of all systems together. 16 384 unless set, at least 1; fewer where the process
    /// may not open so many files (RLIMIT_NOFILE): of 1 024 files about 850 are for connections. Whoever comes then is told
    /// that the system is full, and to try again.
    public var connectionLimit = 16_384
    /// How many of them one other system may have, of all its programs together; `nil`, as unless set, for a quarter, and at least 16
    /// where there are as many. Whoever has them all is told so, and to try again. The programs of the host's own system are
    /// bound by ``connectionLimit`` alone.
    public var connectionLimitPerSystem: Int?
    /// How long closing waits for requests under way. 5 s unless set.
    public var drainTimeout = Duration.seconds(5)
    /// How long, from when it connects, a caller may take to say who it is and what it wants. 1 s unless set.
    public var helloTimeout = Duration.seconds(1)
    /// What the process has around it; a test puts its own in place of the real one.
    package var environment = RuntimeEnvironment()
    /// Where it logs. Nothing at `info` or above in normal use; never what messages contain.
    public var logger: Logger

    /// The defaults, for an application with this id.
    public init(
        applicationID: String,
        network: Network = .all,
        discovery: [any DiscoverySource]? = nil,
        stateDirectory: String? = nil,
        logger: Logger = Logger(label: "RemoteSystems")
    ) {
        self.applicationID = applicationID
        self.network = network
        self.discovery = discovery
        self.stateDirectory = stateDirectory
        self.logger = logger
    }
}
