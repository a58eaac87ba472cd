// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging
public import RemoteSystemsDiscovery

/// How this process takes part: whose account, which network, which limits. The defaults are meant to be used.
///
/// What uses a configuration checks it first, and fails with ``RemoteSystemError/Code/invalidArgument`` when a value is outside
/// its valid range; see ``validate()``.
public struct RemoteSystemsConfiguration: Sendable {
    /// The part of the machine's network that is used, for finding, for being found and for listening.
    public struct Network: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case all, loopback
            case interfaces([String])
        }

        package let kind: Kind

        /// Every interface.
        public static let all = Network(kind: .all)
        /// This machine alone: nothing is announced to, sent to, or taken from the network. Connecting to another machine's
        /// address fails with ``RemoteSystemError/Code/misuse``, and so does connecting to a name other than `localhost`, for
        /// which the network would have to be asked.
        public static let loopback = Network(kind: .loopback)
        /// The interfaces with these names, for example `["eth0"]`, and what stays on this machine. Announcements, and connections in
        /// both directions, keep to them, whatever addresses they have at the time; one that comes later, or comes back, is
        /// used within about a second. Needs Linux 5.7, or the right to use raw sockets.
        public static func interfaces(_ names: [String]) -> Network { Network(kind: .interfaces(names)) }
    }

    /// The id of this application, in reverse-DNS form: 1 to 256 bytes of UTF-8 without control, invisible or line-breaking
    /// characters. Others see it as the caller; a host is found under it.
    public var applicationID: String
    /// The name that this system shows to others of the account, 1 to 1024 bytes of UTF-8; `nil` for the machine's own name.
    public var systemDisplayName: String?
    /// Where the account and this system's keys are kept, an absolute path; `nil` for the user's own place
    /// (``AccountStore``).
    public var stateDirectory: String?
    /// The part of the network that is used.
    public var network: Network
    /// Where to look for systems and announce this one; `nil` for mDNS on ``network``.
    public var discovery: [any DiscoverySource]?
    /// How long a request waits for its answer unless the caller says otherwise. Defaults to 30 s. Valid range: 1 ms–24 h.
    public var requestTimeout = Duration.seconds(30)
    /// How long opening a connection may take, for each address tried. Defaults to 5 s. Valid range: 1 ms–1 h.
    public var connectTimeout = Duration.seconds(5)
    /// How much longer it may take when the other system has answered, and has to start the application first. Defaults to
    /// 15 s, which is more than the 10 s in which a host gives up unless told otherwise: where one is
    /// (``RemoteSystemHost/Options/startTimeout``), set this to more than that. What has a timeout of its own for all of it,
    /// such as ``AppServiceConnection/sendStateless(_:to:request:timeout:idempotencyKey:metadata:)``, goes by that. Valid range:
    /// 0–1 h.
    public var startTimeout = Duration.seconds(15)
    /// Silence after which a connection counts as lost. Defaults to 15 s. Valid range: 1 s–1 h.
    public var deadPeerTime = Duration.seconds(15)
    /// The largest message taken from others, in bytes on the wire. Defaults to 1 MiB. Valid range: 1 KiB–16 MiB.
    public var messageLimit = 1 << 20
    /// How many requests others may have with us at once on one connection. Defaults to 128. Valid range:
    /// 1–4096.
    public var requestWindow = 128
    /// How many bytes of requests others may have with us at once on one connection, at least a message; `nil`, as
    /// unless set, for 8 MiB.
    package var requestWindowBytes: Int?
    /// How many connections a host has at once, of all systems together. Defaults to 16 384; fewer where the process
    /// may not open so many files (RLIMIT_NOFILE): of 1 024 files about 850 are for connections. Whoever comes then is told
    /// that the system is full, and to try again. Valid range: 1–1 048 576.
    public var connectionLimit = 16_384
    /// How many of them one other system may have, of all its programs together; `nil`, as unless set, for a quarter, and at least 16
    /// where there are as many. Whoever has them all is told so, and to try again. The programs of the host's own system are
    /// bound by ``connectionLimit`` alone. Valid range: 1–1 048 576.
    public var connectionLimitPerSystem: Int?
    /// How long closing waits for requests under way. Defaults to 5 s. Valid range: 0–1 h.
    public var drainTimeout = Duration.seconds(5)
    /// How long, from when it connects, a caller may take to say who it is and what it wants. Defaults to 1 s.
    /// Valid range: 1 ms–60 s.
    public var helloTimeout = Duration.seconds(1)
    /// The interceptors around every request that is sent or handled with this configuration. None unless set.
    public var interceptors = AppServiceInterceptors()
    /// What the process has around it; a test puts its own in place of the real one.
    package var environment = RuntimeEnvironment()
    /// Where it logs. Nothing at `info` or above in normal use; never what messages contain, unless an error that a
    /// handler or an interceptor throws has it in its description, which is logged. Of `DecodingError` and
    /// `EncodingError` the kind and the key path alone are.
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
