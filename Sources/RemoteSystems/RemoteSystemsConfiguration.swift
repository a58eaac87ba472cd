// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging
public import RemoteSystemsDiscovery

/// The settings of one application in this process: its account, its network and its limits.
///
/// The defaults suit most applications. Every API that takes a configuration first calls ``validate()`` and fails with
/// ``RemoteSystemError/Code/invalidArgument`` when a value is outside its valid range.
public struct RemoteSystemsConfiguration: Sendable {
    /// The network interfaces used to discover, to advertise, to connect and to listen.
    public struct Network: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case all, loopback
            case interfaces([String])
        }

        package let kind: Kind

        /// All network interfaces of the machine.
        public static let all = Network(kind: .all)
        /// This machine only: nothing is advertised on, sent to or accepted from the network.
        ///
        /// Connecting to an address of another machine fails with ``RemoteSystemError/Code/misuse``. So does connecting
        /// to a name other than `localhost`, since resolving it would send a query to the network.
        public static let loopback = Network(kind: .loopback)
        /// The interfaces with these names, for example `["eth0"]`, and traffic within this machine.
        ///
        /// Advertisements and connections in both directions use only these interfaces, whatever addresses they have at
        /// the time. An interface that appears later, or reappears, is used within about a second. Requires Linux 5.7,
        /// or the right to use raw sockets.
        ///
        /// - Parameter names: names of network interfaces, as `ip link` lists them. Valid count: 1 or more.
        public static func interfaces(_ names: [String]) -> Network { Network(kind: .interfaces(names)) }
    }

    /// The id of this application, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control, invisible
    /// or line-breaking characters.
    ///
    /// Services receive it as ``AppServiceCaller/claimedApplicationID``. Other systems find this application's host by
    /// it.
    public var applicationID: String
    /// The name of this system as other systems of the account see it. Valid length: 1–1024 bytes of UTF-8.
    ///
    /// Defaults to `nil`: the machine's name.
    public var systemDisplayName: String?
    /// The absolute path of the directory that holds the account and this system's keys.
    ///
    /// Defaults to `nil`: the user's own state directory (``AccountStore/init(environment:)``).
    public var stateDirectory: String?
    /// The network interfaces to use. Defaults to ``Network/all``.
    public var network: Network
    /// The settings that decide how systems are found, and how this one is advertised.
    public var discovery: Discovery
    /// The timeouts of connections and requests. Defaults to ``Transport/init()``.
    public var transport = Transport()
    /// The limits of messages, requests and connections. Defaults to ``Limits/init()``.
    public var limits = Limits()
    /// The interceptors of every request sent or handled with this configuration. Defaults to none.
    public var interceptors = AppServiceInterceptors()
    /// The network, clock, identity and machine facts of the process. Tests replace them.
    package var environment = RuntimeEnvironment()
    /// The logger. The library logs nothing at `info` or above in normal use, and never message contents.
    ///
    /// One exception: the description of an error that a handler or an interceptor throws is logged, and may contain
    /// message contents. Of `DecodingError` and `EncodingError`, only the kind and the key path are logged.
    public var logger: Logger

    /// Creates a configuration with the default values. It is checked at its first use (``validate()``).
    ///
    /// - Parameters:
    ///   - applicationID: the id of this application, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without
    ///     control, invisible or line-breaking characters.
    ///   - network: the network interfaces to use. Defaults to ``Network/all``.
    ///   - discovery: the sources that find systems and advertise this one. Defaults to `nil`: mDNS on `network`.
    ///   - stateDirectory: the absolute path of the directory that holds the account. Defaults to `nil`: the user's own
    ///     state directory.
    ///   - logger: receives the library's log messages. Defaults to a logger with the label `RemoteSystems`.
    public init(
        applicationID: String,
        network: Network = .all,
        discovery: [any DiscoverySource]? = nil,
        stateDirectory: String? = nil,
        logger: Logger = Logger(label: "RemoteSystems")
    ) {
        self.applicationID = applicationID
        self.network = network
        self.discovery = Discovery(sources: discovery)
        self.stateDirectory = stateDirectory
        self.logger = logger
    }
}

extension RemoteSystemsConfiguration {
    /// The settings that decide how systems are found, and how this one is advertised.
    public struct Discovery: Sendable {
        /// The sources that find systems and advertise this one. Defaults to `nil`: mDNS on
        /// ``RemoteSystemsConfiguration/network``.
        public var sources: [any DiscoverySource]?
        /// Whether watchers remember the endpoints at which they met the systems of this account. Defaults to `true`.
        ///
        /// A watcher tries the remembered endpoints when it starts and when the network changes. A known system is then
        /// listed within milliseconds, even on networks without multicast.
        ///
        /// The endpoints are stored in the account's directory, readable by this user only, for 30 days. They are tried
        /// only on a network where the system was met, and only within ``RemoteSystemsConfiguration/network``. The
        /// system that responds must prove its identity. If no source has the origin ``DiscoveryOrigin/announced``,
        /// this setting has no effect.
        public var remembersSystems = true

        /// Creates the settings with these sources.
        ///
        /// - Parameter sources: the sources that find systems and advertise this one. Defaults to `nil`: mDNS.
        public init(sources: [any DiscoverySource]? = nil) {
            self.sources = sources
        }
    }

    /// The timeouts of connections and requests.
    public struct Transport: Sendable, Hashable {
        /// The time a request waits for its response, unless the caller gives a timeout. Defaults to 30 s.
        /// Valid range: 1 ms–24 h.
        public var requestTimeout = Duration.seconds(30)
        /// The maximum time to open a connection, for each address tried. Defaults to 5 s. Valid range: 1 ms–1 h.
        public var connectTimeout = Duration.seconds(5)
        /// The maximum additional time to open a connection when the other system has responded and must first start
        /// the application. Defaults to 15 s. Valid range: 0–1 h.
        ///
        /// Use a greater value than ``RemoteSystemHost/Options/startTimeout`` of the host, which defaults to 10 s.
        /// Operations with one timeout for everything, such as
        /// ``AppServiceConnection/sendStateless(_:to:request:timeout:idempotencyKey:metadata:)``, ignore this value.
        public var startTimeout = Duration.seconds(15)
        /// The maximum time from when a host accepts a TCP connection until it has received the caller's hello, the
        /// message that names the service. Defaults to 1 s. Valid range: 1 ms–60 s.
        ///
        /// After that time the host closes the connection.
        public var helloTimeout = Duration.seconds(1)
        /// The time without any data from the peer after which a connection counts as lost. Defaults to 15 s. Valid
        /// range: 1 s–1 h.
        public var deadPeerTime = Duration.seconds(15)
        /// The maximum time that closing waits for requests in progress. Defaults to 5 s. Valid range: 0–1 h.
        public var drainTimeout = Duration.seconds(5)

        /// Creates the settings with the default values.
        public init() {}
    }

    /// The limits of messages, requests and connections.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of a message that this system accepts, in bytes on the wire. Defaults to 1 MiB.
        /// Valid range: 1 KiB–16 MiB.
        public var messageBytes = 1 << 20
        /// The maximum number of concurrent requests that the peer may have on one connection. Defaults to 128.
        /// Valid range: 1–4096.
        public var concurrentRequests = 128
        /// The maximum total size of the peer's concurrent requests on one connection, in bytes; at least one message.
        /// Defaults to 8 MiB.
        package var concurrentRequestBytes: Int?
        /// The maximum number of connections of a host, of all systems together. Defaults to 16 384. Valid range: 1–1
        /// 048 576.
        ///
        /// The limit is lower where the process may not open that many files (RLIMIT_NOFILE): if it may open 1024
        /// files, about 800 of them are available for connections. Further connections are refused; the caller may
        /// retry.
        public var connections = 16_384
        /// The maximum number of connections that one other system, with all its programs, may have to a host. Valid
        /// range: 1–1 048 576.
        ///
        /// Defaults to `nil`: a quarter of the host's limit, but at least 16 if the host may have that many. Further
        /// connections of that system are refused; the caller may retry. For programs on the host's own system only
        /// ``connections`` applies.
        public var connectionsPerSystem: Int?

        /// Creates the settings with the default values.
        public init() {}
    }
}
