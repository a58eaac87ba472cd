// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RemoteSystemsTransport
internal import ValueSets

/// Where the programs of a system register with its host daemon: a Unix socket in the state directory
/// (`Docs/decisions/0023-local-registry.md`).
struct RegistryPlace: Sendable {
    /// The directory of the socket. It holds nothing else, so that programs can watch it for a new daemon.
    let directory: String
    private let running: RunningApplications

    static let name = "daemon.sock"

    init(_ running: RunningApplications) {
        self.directory = "\(running.directory)/registry"
        self.running = running
    }

    /// Creates the directory if there is none, and refuses one that another user owns or can access.
    func makeDirectory() throws(SystemCallFailure) {
        try self.running.makeDirectory()
        try RunningApplications.makeDirectory(self.directory)
    }

    /// Whether there is a socket. Its daemon may have ended.
    var exists: Bool { unsafe access("\(self.directory)/\(Self.name)", F_OK) == 0 }

    /// The network in which only the socket exists.
    func network(_ environment: RuntimeEnvironment) -> TransportNetwork {
        Self.network(LocalTransport(directory: self.directory, name: Self.name), environment)
    }

    /// The network in which only an opened socket exists.
    static func network(opened socket: Int32, _ environment: RuntimeEnvironment) -> TransportNetwork {
        Self.network(LocalTransport(opened: socket), environment)
    }

    private static func network(_ transport: LocalTransport, _ environment: RuntimeEnvironment) -> TransportNetwork {
        TransportNetwork([transport], time: environment.time, taskExecutor: environment.taskExecutor)
    }

    /// Opens the socket without connecting to it, to pass it to another process of this user, which connects itself.
    ///
    /// - Returns: a descriptor that the caller closes; `nil` if there is no socket.
    func open() -> Int32? {
        let descriptor = unsafe Glibc.open("\(self.directory)/\(Self.name)", Self.openPath | O_NOFOLLOW | O_CLOEXEC)
        return descriptor < 0 ? nil : descriptor
    }

    /// `O_PATH`, which Swift's Glibc module lacks.
    private static let openPath: Int32 = 0o10_000_000
}

/// The service over which a program registers with the host daemon of its machine, on the daemon's Unix socket only
/// (`Docs/wire/presence.md`, "Registering with the host daemon").
enum Registry {
    static let service = "remote-systems.registry"

    /// What a program sends to the daemon beside its description.
    struct Registration: Sendable, Hashable {
        /// The port at which the program accepts connections.
        var port: Int
        /// Whether it listens on the loopback interface only.
        var isOnLoopback: Bool
        /// Random for each start of the program.
        var epoch: Int64
        /// The network on which the program is reachable, as ``RemoteSystemsConfiguration/Network/registryName``.
        var network: String

        init(port: Int, isOnLoopback: Bool, epoch: Int64, network: String) {
            self.port = port
            self.isOnLoopback = isOnLoopback
            self.epoch = epoch
            self.network = network
        }

        init?(_ message: ValueSet) {
            guard message["Type"]?.string == "register", let port = message["Port"]?.int, (1...65_535).contains(port),
                let epoch = message["Epoch"]?.int, let network = message["Network"]?.string
            else { return nil }
            self.init(
                port: port,
                isOnLoopback: message["Loopback"]?.bool ?? false,
                epoch: Int64(epoch),
                network: network
            )
        }

        var message: ValueSet {
            [
                "Type": "register", "Port": .integer(Int64(self.port)), "Loopback": .bool(self.isOnLoopback),
                "Epoch": .integer(self.epoch), "Network": .string(self.network),
            ]
        }
    }

    /// The key of the daemon's response: whether the daemon advertises the machine on the program's network, so that
    /// the program need not.
    static let represented = "Represented"
    /// The key of the daemon's response: the names of the daemon's advertisements.
    static let advertised = "Advertised"
}

extension RemoteSystemsConfiguration.Network {
    /// The network as text: equal for equal networks.
    var registryName: String {
        switch self.kind {
        case .all: "all"
        case .loopback: "loopback"
        case .interfaces(let names): "interfaces " + Set(names).sorted().joined(separator: " ")
        }
    }
}
