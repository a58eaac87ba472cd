// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

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
        case registered(isRepresented: Bool)
        /// The program is not registered, or no longer.
        case unregistered
    }

    let place: RegistryPlace
    let context: ApplicationContext
    /// Publishes the program's description on the connection, as on one of a watcher of this system.
    let publish: @Sendable (Connection) -> Void
    /// The program's port, which may change.
    let advertising: ObservableValue<RemoteSystemHost.Advertising>
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
        while true {
            let seen = watch?.events.value
            var pause: Duration?
            do {
                guard self.place.exists else { throw Absent() }
                if try await self.register(epoch) { failures = 0 }
                // The daemon may have ended, or may want programs to register again.
                pause = Self.pause(after: &failures)
            } catch is Absent {
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

    /// Registers, and returns when the connection has ended.
    ///
    /// - Returns: whether the program was registered. The method fails if the daemon did not respond.
    private func register(_ epoch: Int64) async throws -> Bool {
        let security = try self.context.security()
        var connector = try await self.context.connector()
        connector.network = self.place.network(self.context.environment)
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

    /// States the program's port, and each other one that it changes to, until cancelled.
    private func state(_ epoch: Int64, over connection: Connection) async throws {
        let configuration = self.context.configuration
        while !Task.isCancelled {
            let port = self.advertising.value.port
            let registration = Registry.Registration(
                port: port,
                isOnLoopback: configuration.network == .loopback,
                epoch: epoch,
                network: configuration.network.registryName
            )
            let response = try await connection.send(registration.message, timeout: Self.responseTimeout)
            guard response.status == .success else {
                throw RemoteSystemError(
                    .refused,
                    response.failure?.text ?? "The host daemon does not register this program.",
                    side: .local
                )
            }
            self.report(.registered(isRepresented: response.message[Registry.represented]?.bool ?? false))
            await self.advertising.becomes { $0.port != port }
        }
    }
}
