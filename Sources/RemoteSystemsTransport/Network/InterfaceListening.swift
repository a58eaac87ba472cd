// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix

/// A listening socket for loopback and for each of some interfaces, all at one port. What comes in by another interface
/// reaches none of them, whatever address it is for.
///
/// An address that changes changes nothing. An interface that is not there yet, or comes back (as another one, for the
/// kernel), is taken in within a second or so.
actor InterfaceListening {
    /// Binds a socket to the interface with a number, at a port.
    typealias Bind = @Sendable (_ interface: CInt, _ port: Int) async throws -> any Channel

    private struct Place {
        var interface: CInt
        var channel: any Channel
    }

    private static let interval = TimeAmount.seconds(1)
    /// A port that is free on loopback may be taken elsewhere.
    private static let attempts = 8

    private let names: [String]
    private let logger: Logger
    private let bind: Bind
    private var port: Int
    private var places: [String: Place] = [:]
    /// The interfaces on which it is known not to work.
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
        // Always there, so it is where the port is chosen.
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

    /// Follows interfaces that have come and gone.
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
                self.logger.debug("Listening on an interface that has come", metadata: ["interface": "\(name)"])
            } catch {
                // Tried again in a second, and told once.
                guard self.failing.insert(name).inserted else { continue }
                self.logger.warning(
                    "Cannot listen on an interface that has come",
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
