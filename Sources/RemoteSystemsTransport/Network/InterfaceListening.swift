// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Listens on loopback and on each of the given interfaces, with one socket for each and all at one port. Traffic that
/// arrives on another interface reaches none of the sockets, whatever its destination address.
///
/// The sockets are bound to interfaces, so changes of addresses have no effect. The interfaces are checked every
/// second: a new one gets a socket, and so does one that returns with another index.
actor InterfaceListening {
    /// Binds a socket to the interface with an index, at a port.
    typealias Bind = @Sendable (_ interface: CInt, _ port: Int) async throws -> any Channel

    private struct Place {
        var interface: CInt
        var channel: any Channel
    }

    private static let interval = TimeAmount.seconds(1)
    /// The maximum number of attempts to find a port. A port that is free on loopback may be in use on another
    /// interface.
    private static let attempts = 8

    private let names: [String]
    private let logger: Logger
    private let bind: Bind
    private var port: Int
    private var places: [String: Place] = [:]
    /// The interfaces on which listening failed.
    private var failing: Set<String> = []
    private var looking: RepeatedTask?
    private var hasEnded = false

    private init(names: [String], port: Int, logger: Logger, bind: @escaping Bind) {
        self.names = names.filter { $0 != NetworkReach.loopback }
        self.port = port
        self.logger = logger
        self.bind = bind
    }

    static func start(names: [String], port: Int, logger: Logger, bind: @escaping Bind) async throws -> BoundPort {
        var attempt = 1
        while true {
            let listening = InterfaceListening(names: names, port: port, logger: logger, bind: bind)
            do {
                let port = try await listening.start()
                return BoundPort(port: port) { await listening.stop() }
            } catch {
                await listening.stop()
                let isTaken = (error as? IOError)?.errnoCode == EADDRINUSE
                guard port == 0, isTaken, attempt < Self.attempts else { throw error }
                attempt += 1
            }
        }
    }

    private func start() async throws -> Int {
        // Loopback always exists, so its socket chooses the port.
        for name in [NetworkReach.loopback] + self.names {
            guard let index = InterfaceIndex.of(name) else { continue }
            try await self.open(name, index)
        }
        guard let eventLoop = self.places.values.first?.channel.eventLoop else {
            throw IOError(errnoCode: ENODEV, reason: "bind")
        }
        self.looking = eventLoop.scheduleRepeatedAsyncTask(initialDelay: Self.interval, delay: Self.interval) { _ in
            eventLoop.makeFutureWithTask { await self.look() }
        }
        return self.port
    }

    private func open(_ name: String, _ interface: CInt) async throws {
        let channel = try await self.bind(interface, self.port)
        guard !self.hasEnded else {
            try? await channel.close().get()
            return
        }
        if let port = channel.localAddress?.port { self.port = port }
        self.places[name] = Place(interface: interface, channel: channel)
    }

    /// Opens and closes sockets for interfaces that have appeared and disappeared.
    private func look() async {
        for name in self.names where !self.hasEnded {
            let index = InterfaceIndex.of(name)
            if let place = self.places[name], place.interface != index {
                self.places[name] = nil
                try? await place.channel.close().get()
            }
            guard let index, self.places[name] == nil else { continue }
            do {
                try await self.open(name, index)
                self.failing.remove(name)
                self.logger.debug("Listening on a new interface", metadata: ["interface": "\(name)"])
            } catch {
                // Retried in a second, and logged once.
                guard self.failing.insert(name).inserted else { continue }
                self.logger.warning(
                    "Cannot listen on a new interface",
                    metadata: ["interface": "\(name)", "port": "\(self.port)", "reason": "\(error)"]
                )
            }
        }
    }

    private func stop() async {
        self.hasEnded = true
        self.looking?.cancel()
        let places = self.places.values
        self.places = [:]
        for place in places { try? await place.channel.close().get() }
    }
}
