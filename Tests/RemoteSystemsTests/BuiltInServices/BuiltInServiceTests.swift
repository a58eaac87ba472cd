// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTesting
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// A built-in service of this test: the definition of its requests, and its handlers.
private enum Pairing {
    static let service = "remote-systems.test-pairing"

    static let pair = BuiltInMethod<Pair, Paired>("pair")
    static let activity = BuiltInMethod<EmptyMessage, Activity>("activity")

    struct Pair: BuiltInMessage {
        var code: String
        var attempt: Int?

        private enum CodingKeys: String, CodingKey {
            case code = "Code"
            case attempt = "Attempt"
        }

        func validate() throws(InvalidMessage) {
            guard self.code.utf8.count == 6 else { throw InvalidMessage("A code has six characters.") }
        }
    }

    struct Paired: BuiltInMessage {
        var name: String

        private enum CodingKeys: String, CodingKey { case name = "Name" }
    }

    struct Activity: BuiltInMessage, Equatable {
        var title: String
        var isOwn: Bool

        private enum CodingKeys: String, CodingKey {
            case title = "Title"
            case isOwn = "Own"
        }
    }

    static func builtIn(_ pairs: Pairs) -> BuiltInService {
        BuiltInService(
            Self.service,
            concurrentRequests: 2,
            handlers: [
                Self.pair.handler { request, _ async throws(WireFailure) in
                    pairs.all.withLock { $0.append(request) }
                    guard request.code == "123456" else {
                        throw WireFailure("Another system is paired.", code: .busy, canRetry: true)
                    }
                    return Paired(name: "Desk \(request.attempt ?? 1)")
                },
                Self.activity.handler { _, caller in
                    Activity(title: "Film", isOwn: caller.deadline > .now && caller.connection.isWithinAccount)
                },
            ]
        )
    }

    /// The requests that reached the handler.
    final class Pairs: Sendable {
        let all = Mutex<[Pair]>([])
    }
}

/// A built-in service is one definition, from which both the host and its callers work, here on a network in memory.
@Suite(.timeLimit(.minutes(1))) struct BuiltInServiceTests {
    /// Runs the body with an open connection to a built-in service.
    private static func with(_ builtIn: BuiltInService, _ body: (Connection) async throws -> Void) async throws {
        try await DiscoveryStage.with { stage in
            let host = ApplicationContext(stage.configuration(applicationID: "test.host"))
            let core = HostCore(
                context: host,
                services: [],
                builtIns: [builtIn],
                application: SystemDescription.Application(
                    id: "test.host",
                    displayName: "Host",
                    attributes: [:],
                    services: [],
                    uriSchemes: []
                )
            )
            let security = try host.security()
            let listener = try await Listener.start(
                host: nil,
                port: 0,
                security: security,
                limits: host.limits,
                logger: host.logger,
                network: host.account.network
            ) { hello, peer in
                await core.admit(hello, peer: peer, own: security.systemID)
            }
            let caller = ApplicationContext(stage.configuration(applicationID: "test.caller"))
            let connector = try await caller.connector()
            let connection = try await connector.connect(
                to: [Endpoint(transport: .memory, host: "localhost", port: listener.port)],
                expecting: nil,
                hello: caller.hello(service: builtIn.name, targetApplication: nil, limits: connector.limits)
            ) { _, _ in .requestsNotTaken }
            try await body(connection)
            await connection.abortAndWait()
            await listener.stop()
        }
    }

    private static func call<Request, Response>(
        _ method: BuiltInMethod<Request, Response>,
        _ request: Request,
        over connection: Connection
    ) async throws -> Response {
        try await method.call(request, over: connection, timeout: .seconds(20))
    }

    @Test func `a new service needs its definition and its handlers, and is called with values`() async throws {
        let pairs = Pairing.Pairs()
        try await Self.with(Pairing.builtIn(pairs)) { connection in
            #expect(connection.remote.limits.window == 2)
            let first = try await Self.call(Pairing.pair, Pairing.Pair(code: "123456"), over: connection)
            #expect(first.name == "Desk 1")
            let second = try await Self.call(Pairing.pair, Pairing.Pair(code: "123456", attempt: 2), over: connection)
            #expect(second.name == "Desk 2")
            let activity = try await Self.call(Pairing.activity, EmptyMessage(), over: connection)
            #expect(activity == Pairing.Activity(title: "Film", isOwn: true))
        }
        #expect(pairs.all.withLock { $0.count } == 2)
    }

    @Test func `the failure that a handler throws reaches the caller`() async throws {
        try await Self.with(Pairing.builtIn(Pairing.Pairs())) { connection in
            let error = await #expect(throws: BuiltInCallError.self) {
                _ = try await Self.call(Pairing.pair, Pairing.Pair(code: "654321"), over: connection)
            }
            guard case .failed(.failure, let failure?) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(failure == WireFailure("Another system is paired.", code: .busy, canRetry: true))
            let converted = RemoteSystemError(.failed(.failure, failure))
            #expect(converted.code == .refused && converted.canRetry && converted.message == failure.text)
        }
    }

    @Test func `an invalid request gets its code and reason, and does not reach the handler`() async throws {
        let invalid: [(ValueSet, FailureCode, String)] = [
            ([:], .requestUnknown, ""), (["Type": 1], .requestUnknown, ""), (["Type": "unpair"], .requestUnknown, ""),
            (["Type": "pair"], .requestInvalid, "Code"), (["Type": "pair", "Code": 123_456], .requestInvalid, "Code"),
            (["Type": "pair", "Code": "12345"], .requestInvalid, "six characters"),
            (["Type": "pair", "Code": "123456", "Attempt": 1.0], .requestInvalid, "Attempt"),
            (["Type": "pair", "Code": "123456", "Attempt": .null], .requestInvalid, "Attempt"),
            (["Type": "pair", "Code": "123456", "Attempt": .unsigned(.max)], .requestInvalid, "Attempt"),
        ]
        let pairs = Pairing.Pairs()
        try await Self.with(Pairing.builtIn(pairs)) { connection in
            for (message, code, reason) in invalid {
                let response = try await connection.send(message, timeout: .seconds(20))
                #expect(response.status == .failure && response.failure?.code == code.rawValue, "\(message)")
                #expect(response.failure?.canRetry == false)
                #expect(reason.isEmpty || response.failure?.text.contains(reason) == true, "\(response)")
            }
            // Unknown keys are ignored.
            let further: ValueSet = ["Type": "pair", "Code": "123456", "Color": "red"]
            #expect(try await connection.send(further, timeout: .seconds(20)).message == ["Name": "Desk 1"])
        }
        #expect(pairs.all.withLock { $0.count } == 1)
    }

    @Test func `a response of another form is an error of the peer`() async throws {
        struct Other: BuiltInMessage {
            var name: Int
            private enum CodingKeys: String, CodingKey { case name = "Name" }
        }
        try await Self.with(Pairing.builtIn(Pairing.Pairs())) { connection in
            let method = BuiltInMethod<Pairing.Pair, Other>(Pairing.pair.type)
            let error = await #expect(throws: BuiltInCallError.self) {
                _ = try await Self.call(method, Pairing.Pair(code: "123456"), over: connection)
            }
            guard case .responseInvalid(let invalid)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(invalid.text.hasPrefix("Name: "))
            #expect(RemoteSystemError(.responseInvalid(invalid)).code == .protocolViolation)
        }
    }

    @Test func `a caller that is not authorized gets that failure for every request`() async throws {
        let closed = BuiltInService(Pairing.service, handlers: [Pairing.activity.handler { _, _ in .none }]) {
            _ throws(WireFailure) in throw WireFailure("Not today.", code: .notAuthorized)
        }
        try await Self.with(closed) { connection in
            #expect(connection.remote.limits.window == 8)
            for type in ["activity", "unknown"] {
                let response = try await connection.send(["Type": .string(type)], timeout: .seconds(20))
                #expect(response.failure == WireFailure("Not today.", code: .notAuthorized))
            }
        }
    }
}

extension Pairing.Activity {
    fileprivate static let none = Pairing.Activity(title: "", isOwn: false)
}
