// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Asks the host at an address for its description: connects, receives the description once, and closes.
struct DescriptionInquiry: Sendable {
    let origin: ApplicationContext
    let endpoint: Endpoint

    /// The maximum time in which a host must describe itself after it accepted the connection.
    private static let descriptionTime = Duration.seconds(5)
    /// The maximum time to ask all running applications that a host names. An application that hangs delays the result
    /// by this time at most.
    private static let runningTime = Duration.seconds(2)
    /// The maximum number of applications that are asked at the same time.
    private static let maxQuestions = 8

    /// The description of a process, and how its system was reached.
    struct Result: Sendable {
        var description: SystemDescription
        var systemID: SystemID
        /// The end of the certificate that the system presented.
        var certificateEnd: Date
        var isProximal: Bool
    }

    /// Asks the process at the address, and each running application that it names.
    func askAll() async throws -> (Result, running: [SystemDescription.Application]) {
        let response = try await self.ask()
        let running = await self.ask(response.description.running, of: response.systemID)
        try Task.checkCancellation()
        return (response, running)
    }

    /// Asks the process at the address, or the application with this id, to whose port that process redirects the
    /// connection.
    func ask(_ application: String? = nil, of system: SystemID? = nil) async throws -> Result {
        var connector = try await self.origin.connector()
        // The host may have to start the application before it responds, which may take longer than connecting.
        connector.limits.messageBytes = max(connector.limits.messageBytes, StateLimits.minLimit)
        connector.responseTimeout = TimeAmount(self.origin.configuration.transport.startTimeout)
        let reported = Promise<SystemDescription>()
        let connection: Connection
        do {
            connection = try await connector.connect(
                to: [self.endpoint],
                expecting: system,
                hello: self.origin.hello(
                    service: Presence.service,
                    targetApplication: application,
                    limits: connector.limits
                )
            ) { _, _ in .requestUnknown }
        } catch let error as TransportError {
            await self.origin.account.untilRootsAreStored()
            throw RemoteSystemError(error)
        }
        let following = Task(executorPreference: self.origin.environment.taskExecutor) {
            await Self.follow(connection, reporting: reported)
        }
        let timer = Task(executorPreference: self.origin.environment.taskExecutor) {
            try await self.origin.environment.time.sleep(for: Self.descriptionTime)
            reported.fail(Self.silent)
        }
        defer {
            timer.cancel()
            following.cancel()
        }
        // A closed channel has no address.
        let isProximal = connection.channel.isProximal
        do {
            let description = try await reported.value
            await connection.close()
            return Result(
                description: description,
                systemID: connection.peer.systemID,
                certificateEnd: connection.peer.expiry,
                isProximal: isProximal
            )
        } catch {
            await connection.abortAndWait()
            throw error
        }
    }

    private static func follow(_ connection: Connection, reporting reported: Promise<SystemDescription>) async {
        let subscriber = StateSubscriber(PresenceTopic.schema)
        _ = try? await subscriber.follow(over: connection) { _ in
            if let description = SystemDescription(subscriber.records) { reported.succeed(description) }
        }
        reported.fail(Self.silent)
    }

    /// Returns the descriptions of the applications that respond within ``runningTime``. Unordered.
    func ask(_ applications: [String], of system: SystemID) async -> [SystemDescription.Application] {
        guard !applications.isEmpty else { return [] }
        return await withTaskGroup(of: Found.self) { group in
            group.addTask {
                try? await self.origin.environment.time.sleep(for: Self.runningTime)
                return .timeIsOver
            }
            var remaining = applications[...]
            func askNext() {
                guard let id = remaining.popFirst() else { return }
                group.addTask {
                    guard let reported = try? await self.ask(id, of: system).description.application, reported.id == id
                    else {
                        return .nothing
                    }
                    return .application(reported)
                }
            }
            for _ in 0..<Self.maxQuestions { askNext() }
            defer { group.cancelAll() }
            var found: [SystemDescription.Application] = []
            var awaited = applications.count
            while awaited > 0, let next = await group.next() {
                switch next {
                case .application(let application): found.append(application)
                case .nothing: break
                case .timeIsOver: return found
                }
                awaited -= 1
                askNext()
            }
            return found
        }
    }

    private enum Found: Sendable {
        case application(SystemDescription.Application)
        case nothing
        case timeIsOver
    }

    private static let silent = RemoteSystemError(
        .protocolViolation,
        "The host accepted the connection but did not describe itself.",
        side: .remote,
        canRetry: true
    )
}
