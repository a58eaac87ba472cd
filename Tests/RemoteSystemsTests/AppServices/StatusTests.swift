// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import RemoteSystemsTransport
import ServiceLifecycle
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// Every status that a caller of app services can get, each produced over loopback.
@Suite struct StatusTests {
    static let description = AppServiceDescription(name: "test.service")
    static let echo = AppService("test.service") { $0.message }

    /// Where a service may be, from the caller's point of view.
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case there, otherApplication, shuttingDown, otherService, newerRefusal, noListener, localOnly, strangers,
            unknown

        var testDescription: String { self.rawValue }

        var status: AppServiceConnectionStatus {
            switch self {
            case .there: .success
            case .otherApplication: .appNotInstalled
            case .shuttingDown: .appUnavailable
            case .otherService: .appServiceUnavailable
            case .unknown: .unknown
            case .noListener: .remoteSystemUnavailable
            case .localOnly: .remoteSystemNotSupportedByApp
            case .strangers: .notAuthorized
            case .newerRefusal: AppServiceConnectionStatus(rawValue: 4711)
            }
        }

        /// The status of a message without a connection.
        var stateless: StatelessAppServiceResponseStatus {
            switch self {
            case .there: .success
            case .otherApplication: .appNotInstalled
            case .shuttingDown: .appUnavailable
            case .otherService: .appServiceUnavailable
            case .noListener: .remoteSystemUnavailable
            case .localOnly: .remoteSystemNotSupportedByApp
            case .strangers: .notAuthorized
            case .newerRefusal, .unknown: .unknown
            }
        }

        /// Runs `body` with a service at this place.
        func with(_ body: (AppServiceDescription, RemoteSystemConnectionRequest) async throws -> Void) async throws {
            switch self {
            case .there: try await Self.host { try await body(description, $1) }
            case .otherApplication:
                try await Self.host {
                    try await body(AppServiceDescription(name: "x", applicationID: "test.other"), $1)
                }
            case .otherService: try await Self.host { try await body(AppServiceDescription(name: "test.other"), $1) }
            case .localOnly: try await Self.fromElsewhere(body)
            case .shuttingDown: try await Self.duringShutdown(body)
            case .noListener:
                try await LoopbackSystem.with { loopbackSystem in
                    let configuration = loopbackSystem.configuration("test.caller")
                    try await body(
                        description,
                        RemoteSystemConnectionRequest(host: "127.0.0.1", port: 1, configuration: configuration)
                    )
                }
            case .strangers:
                try await LoopbackSystem.with { strangers in
                    try await Self.host(from: strangers.configuration("test.stranger")) {
                        try await body(description, $1)
                    }
                }
            case .unknown: try await Peer.with(.refuse(Refusal(.unknown, "No."))) { try await body(description, $0) }
            case .newerRefusal:
                try await Peer.with(.refuse(Refusal(OpenStatus(rawValue: 4711), "No."))) {
                    try await body(description, $0)
                }
            }
        }

        private static func host(
            from caller: RemoteSystemsConfiguration? = nil,
            _ body: (RemoteSystemHost, RemoteSystemConnectionRequest) async throws -> Void
        ) async throws {
            try await LoopbackSystem.with { loopbackSystem in
                try await loopbackSystem.withHost([echo]) { host in
                    let request = RemoteSystemConnectionRequest(
                        host: "127.0.0.1",
                        port: try await host.port,
                        configuration: caller ?? loopbackSystem.configuration("test.caller")
                    )
                    try await body(host, request)
                }
            }
        }

        private static func fromElsewhere(
            _ body: (AppServiceDescription, RemoteSystemConnectionRequest) async throws -> Void
        ) async throws {
            try await TwoMachines.with { machines in
                try await machines.join()
                let service = AppService("test.service", options: .init(supportsRemote: false)) { $0.message }
                let host = RemoteSystemHost(machines.configuration("first"), services: [service])
                let running = Task { try await host.run() }
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: machines.configuration("second")
                )
                let result: Void? = try? await body(description, request)
                running.cancel()
                try await running.value
                try #require(result != nil)
            }
        }

        private static func duringShutdown(
            _ body: (AppServiceDescription, RemoteSystemConnectionRequest) async throws -> Void
        ) async throws {
            try await LoopbackSystem.with { loopbackSystem in
                let isStarted = Mutex(false)
                let isOver = Mutex(false)
                let slow = AppService("test.service") { request in
                    isStarted.withLock { $0 = true }
                    // A handler in progress: it polls until the test ends it.
                    while !isOver.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
                    return request.message
                }
                // Neither drain timeout may end the request before the body has run.
                var (hosting, calling) = (
                    loopbackSystem.configuration("test.host"), loopbackSystem.configuration("test.caller")
                )
                hosting.transport.drainTimeout = .seconds(60)
                calling.transport.drainTimeout = .seconds(60)
                let host = RemoteSystemHost(hosting, services: [slow])
                let group = ServiceGroup(
                    services: [host],
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
                let running = Task { try await group.run() }
                let (connection, _) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    description,
                    configuration: calling
                )
                let sending = Task { try await connection.send([:]) }
                try await until { isStarted.withLock { $0 } }
                await group.triggerGracefulShutdown()
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                // The host is shutting down once it refuses connections.
                for _ in 0..<500 {
                    let probe = AppServiceConnection(to: description)
                    guard try await probe.open(request) == .success else { break }
                    await probe.cancel()
                    // Nothing outside the host reports that it refuses connections, so this polls.
                    try await Task.sleep(for: .milliseconds(20))
                }
                let result: Void? = try? await body(description, request)
                isOver.withLock { $0 = true }
                _ = try await sending.value
                try await running.value
                try #require(result != nil)
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `each status of opening is what a caller gets at that place (X-21)`(place: Place) async throws {
        try await place.with { service, request in
            let connection = AppServiceConnection(to: service)
            let status = try await connection.open(request)
            #expect(status == place.status)
            if place == .there {
                #expect(connection.openError == nil)
                await connection.close()
            } else {
                #expect(connection.openError?.message.isEmpty == false)
                #expect(connection.openError?.outcome == .notExecuted)
            }
        }
    }

    @Test func `the numbers of opening are Project Rome's (X-21)`() {
        let numbers = [0, 1, 2, 3, 4, 5, 6, 7]
        let statuses: [AppServiceConnectionStatus] = [
            .success, .appNotInstalled, .appUnavailable, .appServiceUnavailable, .unknown, .remoteSystemUnavailable,
            .remoteSystemNotSupportedByApp, .notAuthorized,
        ]
        #expect(statuses.map(\.rawValue) == numbers)
        let reached = Set(Place.allCases.map(\.status))
        #expect(reached.isSuperset(of: statuses))
    }

    // MARK: Requests

    /// Outcomes of a request.
    enum Fate: String, CaseIterable, CustomTestStringConvertible {
        case answered, failed, overLimit, noCapacity, late, systemBehind, tooLarge, closed

        var testDescription: String { self.rawValue }

        var status: AppServiceResponseStatus {
            switch self {
            case .answered: .success
            case .failed: .failure
            case .overLimit, .noCapacity: .resourceLimitsExceeded
            case .late: .unknown
            case .systemBehind: .remoteSystemUnavailable
            case .tooLarge: .messageTooLarge
            case .closed: .connectionClosed
            }
        }

        var outcome: RemoteSystemError.Outcome? {
            switch self {
            case .answered: nil
            case .failed, .overLimit, .systemBehind: .failed
            case .noCapacity, .tooLarge, .closed: .notExecuted
            case .late: .unknown
            }
        }

        /// The status of a message without a connection; nil if it cannot occur.
        var stateless: StatelessAppServiceResponseStatus? {
            switch self {
            case .answered: .success
            case .failed: .failure
            case .overLimit: .resourceLimitsExceeded
            case .late: .unknown
            case .systemBehind: .remoteSystemUnavailable
            case .tooLarge: .messageTooLarge
            case .noCapacity, .closed: nil
            }
        }

        var message: ValueSet {
            ["do": .string(self.rawValue), "data": .data(Data(count: self == .tooLarge ? 1 << 20 : 0))]
        }

        var timeout: Duration? { self == .late || self == .noCapacity ? .milliseconds(100) : nil }

        static let service = AppService("test.service", requestSchema: .full, responseSchema: .full) { request in
            switch request.message["do"]?.string.flatMap({ Fate(rawValue: $0) }) {
            case .failed: throw AppServiceFailure("No.")
            case .overLimit: throw AppServiceFailure("Full.", canRetry: true, status: .resourceLimitsExceeded)
            case .systemBehind:
                throw AppServiceFailure("The printer is off.", canRetry: true, status: .remoteSystemUnavailable)
            // Outlasts the request's deadline. Ended by cancellation.
            case .late, .noCapacity: try await Task.sleep(for: .seconds(60))
            default: break
            }
            return [:]
        }
    }

    @Test(arguments: Fate.allCases)
    func `each status of a request is what a caller gets for that outcome (X-22)`(fate: Fate) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var configuration = loopbackSystem.configuration("test.host")
            if fate == .noCapacity { configuration.limits.concurrentRequests = 1 }
            let host = RemoteSystemHost(configuration, services: [Fate.service])
            let running = Task { try await host.run() }
            let service = AppServiceDescription(name: "test.service", requestSchema: .full, responseSchema: .full)
            let (connection, _) = try await Loopback.connect(loopbackSystem, host, service)
            let first = Task.immediate { fate == .noCapacity ? try? await connection.send(fate.message) : nil }
            if fate == .closed { await connection.close() }
            let response = try await connection.send(fate.message, timeout: fate.timeout)
            #expect(response.status == fate.status)
            #expect(response.error?.outcome == fate.outcome)
            first.cancel()
            _ = await first.value
            await connection.cancel()
            running.cancel()
            try await running.value
        }
    }

    @Test func `the numbers of requests are Project Rome's (X-22)`() {
        let statuses: [AppServiceResponseStatus] = [
            .success, .failure, .resourceLimitsExceeded, .unknown, .remoteSystemUnavailable, .messageTooLarge,
            .connectionClosed,
        ]
        #expect(statuses.map(\.rawValue) == Array(0...6))
        #expect(Set(Fate.allCases.map(\.status)) == Set(statuses))
    }

    // MARK: Closing

    /// How a connection can end.
    enum End: String, CaseIterable, CustomTestStringConvertible {
        case closed, givenUp, oversteppedLimit, lost

        var testDescription: String { self.rawValue }

        var status: AppServiceClosedStatus {
            switch self {
            case .closed: .completed
            case .givenUp: .cancelled
            case .oversteppedLimit: .resourceLimitsExceeded
            case .lost: .unknown
            }
        }
    }

    @Test(arguments: End.allCases)
    func `each status of closing is what a listener gets for that end (X-23, R-31, R-44)`(end: End) async throws {
        let heard = Mutex<[AppServiceClosedStatus]>([])
        try await Peer.with(.accept(Peer.slow)) { request in
            let connection = AppServiceConnection(to: Self.description)
            connection.onClosed { status in heard.withLock { $0.append(status) } }
            let opened = try await connection.open(request)
            #expect(opened == .success)
            switch end {
            case .closed: await connection.close()
            case .givenUp: await connection.cancel()
            case .lost: _ = try await connection.send(["cut": true])
            case .oversteppedLimit:
                // More requests than the host allows, but no more than it announced.
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 { group.addTask { _ = try? await connection.send([:]) } }
                }
            }
            let status = try await connection.waitUntilClosed()
            #expect(status == end.status)
        }
        // Once, not twice (Project Rome 1.3.1).
        #expect(heard.withLock { $0 } == [end.status])
    }

    @Test func `the numbers of closing are Project Rome's (X-23)`() {
        let statuses: [AppServiceClosedStatus] = [.completed, .cancelled, .resourceLimitsExceeded, .unknown]
        #expect(statuses.map(\.rawValue) == Array(0...3))
        #expect(Set(End.allCases.map(\.status)) == Set(statuses))
    }

    // MARK: Without a connection

    @Test(arguments: Place.allCases)
    func `a message without a connection reports why it could not be sent (X-24)`(place: Place) async throws {
        try await place.with { service, request in
            let response = try await AppServiceConnection.sendStateless(["n": 1], to: service, request: request)
            #expect(response.status == place.stateless)
            #expect(response.message == (place == .there ? ["n": 1] : [:]))
            #expect((response.error == nil) == (place == .there))
        }
    }

    @Test(arguments: Fate.allCases.filter { $0.stateless != nil })
    func `a message without a connection reports its outcome (X-24)`(fate: Fate) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Fate.service]) { host in
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                let service = AppServiceDescription(name: "test.service", requestSchema: .full, responseSchema: .full)
                // The timeout includes opening, which takes long in debug builds.
                let timeout: Duration? = fate == .late ? .seconds(8) : nil
                let response = try await AppServiceConnection.sendStateless(
                    fate.message,
                    to: service,
                    request: request,
                    timeout: timeout
                )
                #expect(response.status == fate.stateless)
                #expect(response.error?.outcome == fate.outcome)
            }
        }
    }

    @Test func `the numbers without a connection are Project Rome's (X-24)`() {
        let statuses: [StatelessAppServiceResponseStatus] = [
            .success, .appNotInstalled, .appUnavailable, .appServiceUnavailable, .remoteSystemUnavailable,
            .remoteSystemNotSupportedByApp, .notAuthorized, .resourceLimitsExceeded, .messageTooLarge, .failure,
            .unknown,
        ]
        #expect(statuses.map(\.rawValue) == Array(0...10))
        #expect(Set(Place.allCases.map(\.stateless) + Fate.allCases.compactMap(\.stateless)) == Set(statuses))
    }
}

/// A scripted host on the real wire.
enum Peer {
    /// Responds only after a minute, allows two concurrent requests but announces eight, and cuts the connection on
    /// request.
    static var slow: EstablishedConnection {
        var limits = ConnectionLimits()
        limits.window = 2
        var reported = limits.peerLimits
        reported.window = 8
        return EstablishedConnection(
            acceptance: Acceptance(application: "test.peer", limits: reported),
            limits: limits,
            handler: { request, connection in
                if request.message["cut"] != nil { connection.channel.close(promise: nil) }
                // Outlasts every timeout of the tests.
                try? await Task.sleep(for: .seconds(60))
                return Response()
            },
            opened: { _ in }
        )
    }

    static func with(
        _ admission: Admission,
        _ body: (RemoteSystemConnectionRequest) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let configuration = loopbackSystem.configuration("test.caller")
            let local = ApplicationContext(configuration)
            let listener = try await Listener.start(
                host: "127.0.0.1",
                port: 0,
                security: try local.security(),
                limits: local.limits,
                logger: local.logger
            ) { _, _ in admission }
            do {
                try await body(
                    RemoteSystemConnectionRequest(
                        host: "127.0.0.1",
                        port: listener.port,
                        configuration: configuration
                    )
                )
            } catch {
                await listener.stop()
                throw error
            }
            await listener.stop()
        }
    }
}
