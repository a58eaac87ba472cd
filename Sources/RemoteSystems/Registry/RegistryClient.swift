// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore
internal import RemoteSystemsTransport

/// Keeps a program registered with the host daemon of its machine while there is one.
struct RegistryClient: Sendable {
    /// What happens to the registration.
    enum Event: Sendable, Hashable {
        /// The daemon publishes the program.
        ///
        /// - `isRepresented`: whether the program need not advertise itself.
        /// - `advertised`: the names of the daemon's advertisements, if so.
        case registered(isRepresented: Bool, advertised: Set<String>)
        /// The program is not registered, or the daemon does not respond.
        case unregistered
    }

    let place: RegistryPlace
    let context: ApplicationContext
    /// Publishes the program's description on the connection, as on one of a watcher of this system.
    let publish: @Sendable (Connection) -> Void
    /// The program's port, which may change.
    let advertising: ObservableValue<RemoteSystemHost.Advertising>
    /// Finds the daemon if its socket's path does not lead to it.
    let locator: (any HostDaemonLocator)?
    /// The connection, for further requests of the program.
    let current: RegistryConnection
    let report: @Sendable (Event) -> Void

    /// The timeout for connecting and for the daemon's response, together with ``responseTimeout``. A daemon that hangs
    /// delays the first advertisement of a program by no more.
    private static let connectTimeout = TimeAmount.seconds(2)
    private static let responseTimeout = TimeAmount.seconds(2)
    /// The delay before a daemon that refused is asked again, and its maximum. Doubled each time.
    private static let delay = Duration.milliseconds(250)
    private static let maxDelay = Duration.seconds(60)
    /// The interval at which to look for a daemon on a machine on which directories cannot be watched.
    private static let interval = Duration.seconds(5)
    /// The interval at which a registered program checks whether the daemon responds, and the timeout for the response.
    /// A daemon that hangs is noticed within their sum. A program that is wrong about it, because the machine is busy,
    /// advertises itself for a moment beside the daemon.
    private static let checkInterval = Duration.seconds(2)
    private static let checkTimeout = TimeAmount.seconds(1)

    /// Registers whenever there is a daemon, until cancelled.
    func run() async throws {
        let epoch = Int64.random(in: 0 ... .max)
        var watch: DirectoryWatch?
        do {
            try self.place.makeDirectory()
            watch = try await DirectoryWatch.start(directory: self.place.directory)
        } catch {
            self.context.logger.debug("Looking for a host daemon regularly", metadata: ["reason": "\(error)"])
        }
        var failures = 0
        var isFirst = true
        while true {
            let seen = watch?.events.value
            var pause: Duration?
            do {
                defer { isFirst = false }
                if try await self.register(epoch, startsDaemon: isFirst) { failures = 0 }
                // The daemon may have ended, or may want programs to register again.
                pause = Self.pause(after: &failures)
            } catch is Absent where self.locator == nil {
                failures = 0
            } catch {
                try Task.checkCancellation()
                self.context.logger.debug("Not registered with the host daemon", metadata: ["reason": "\(error)"])
                pause = Self.pause(after: &failures)
            }
            try Task.checkCancellation()
            self.report(.unregistered)
            try await self.wait(for: watch, after: seen, atMost: watch == nil ? pause ?? Self.interval : pause)
        }
    }

    private static func pause(after failures: inout Int) -> Duration {
        defer { failures += 1 }
        return min(self.delay * (1 << min(failures, 10)), self.maxDelay)
    }

    /// There is no daemon's socket.
    private struct Absent: Error {}

    /// Returns when another daemon may listen, or after the time.
    private func wait(for watch: DirectoryWatch?, after seen: Int?, atMost limit: Duration?) async throws {
        let time = self.context.environment.time
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let watch { group.addTask { await watch.events.becomes { $0 != seen } } }
            if let limit { group.addTask { try await time.sleep(for: limit) } }
            try await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    /// Registers at the socket's path, or else at the socket that the locator finds. Returns when the connection has
    /// ended.
    ///
    /// - Returns: whether the program was registered. The method fails if the daemon did not respond.
    private func register(_ epoch: Int64, startsDaemon: Bool) async throws -> Bool {
        do {
            guard self.place.exists else { throw Absent() }
            return try await self.register(epoch, through: self.place.network(self.context.environment))
        } catch {
            try Task.checkCancellation()
            guard let locator,
                let socket = try? await locator.openSocket(
                    of: self.context.security().systemID,
                    startsDaemon: startsDaemon
                )
            else { throw error }
            defer { close(socket) }
            return try await self.register(
                epoch,
                through: RegistryPlace.network(opened: socket, self.context.environment)
            )
        }
    }

    private func register(_ epoch: Int64, through network: TransportNetwork) async throws -> Bool {
        let security = try self.context.security()
        var connector = try await self.context.connector()
        connector.network = network
        connector.timeout = Self.connectTimeout
        connector.opened = { [opened = connector.opened] connection in
            opened(connection)
            if let connection = connection as? Connection { self.publish(connection) }
        }
        let connection = try await connector.connect(
            to: [LocalTransport.endpoint],
            expecting: security.systemID,
            hello: self.context.hello(
                service: Registry.service,
                targetApplication: nil,
                limits: connector.limits
            )
        ) { _, _ in .requestUnknown }
        self.current.opened(connection)
        defer { self.current.closed(connection) }
        let state = Task(executorPreference: self.context.environment.taskExecutor) {
            defer { connection.leave() }
            try await self.state(epoch, over: connection)
        }
        await withTaskCancellationHandler {
            _ = await connection.waitUntilClosed()
        } onCancel: {
            connection.leave()
        }
        state.cancel()
        do {
            try await state.value
            return true
        } catch is CancellationError {
            return false
        }
    }

    /// States the program's port, and repeats that when the port changes and to check whether the daemon responds,
    /// until cancelled.
    private func state(_ epoch: Int64, over connection: Connection) async throws {
        let configuration = self.context.configuration
        let time = self.context.environment.time
        var timeout = Self.responseTimeout
        var reported: Event?
        func report(_ event: Event) {
            guard event != reported else { return }
            reported = event
            self.report(event)
        }
        while !Task.isCancelled {
            let port = self.advertising.value.port
            let registration = Registry.Registration(
                port: port,
                isOnLoopback: configuration.network == .loopback,
                epoch: epoch,
                network: configuration.network.registryName
            )
            let began = time.now
            let response: Response
            do {
                response = try await connection.send(registration.message, timeout: timeout)
            } catch let error as TransportError where error.code == .deadlineExceeded && reported != nil {
                // Longer than the timeout: this process stood still itself, and the response may be there already.
                guard time.now - began < Duration(timeout) * 2 else { continue }
                report(.unregistered)
                continue
            } catch {
                // The connection has ended.
                if reported != nil { return }
                throw error
            }
            guard response.status == .success else {
                throw RemoteSystemError(
                    .refused,
                    response.failure?.text ?? "The host daemon does not register this program.",
                    side: .local
                )
            }
            let names = (response.message[Registry.advertised]?.array ?? []).compactMap(\.string)
            report(
                .registered(
                    isRepresented: response.message[Registry.represented]?.bool ?? false,
                    advertised: Set(names)
                )
            )
            timeout = Self.checkTimeout
            await withTaskGroup { group in
                group.addTask { await self.advertising.becomes { $0.port != port } }
                group.addTask { try? await time.sleep(for: Self.checkInterval) }
                await group.next()
                group.cancelAll()
            }
        }
    }
}
