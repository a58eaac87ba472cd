// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// The conversations of `Docs/wire-vectors.json`. Our host and our caller play one side of each, and a peer sends
/// exactly the vector's bytes on the other.
@Suite struct WireConversationTests {
    struct Step: Sendable {
        var isCaller: Bool
        var bytes: [UInt8]
        /// Another implementation may omit it.
        var isOptional: Bool
        /// It is sent together with the previous part.
        var isTogether: Bool

        /// The frame, if it is one.
        func frame() throws -> Frame { try Frame(ByteBuffer(bytes: self.bytes.dropFirst(4))) }
    }

    struct Conversation: Sendable, CustomTestStringConvertible {
        var name: String
        var steps: [Step]
        var brokenBy: String?
        var code: String?
        var isOpen: Bool
        /// Features that a host may lack, such as keys.
        var needs: [String]

        var testDescription: String { self.name }
    }

    private static func conversations() throws -> [Conversation] { try self.all.get() }

    private static let all = Result { try load() }

    private static func load() throws -> [Conversation] {
        let file = try WireVectorTests.file.get()
        return try #require(file["conversations"]?.array).map { entry in
            let entry = try #require(entry.dictionary)
            let outcome = try #require(entry["outcome"]?.dictionary)
            return Conversation(
                name: try #require(entry["name"]?.string),
                steps: try #require(entry["steps"]?.array).map { step in
                    let step = try #require(step.dictionary)
                    let hex = try #require(step["hex"]?.string)
                    return Step(
                        isCaller: step["from"]?.string == "caller",
                        bytes: try Self.bytes(hex),
                        isOptional: step["optional"]?.bool ?? false,
                        isTogether: step["together"]?.bool ?? false
                    )
                },
                brokenBy: outcome["broken-by"]?.string,
                code: outcome["code"]?.string,
                isOpen: outcome["open"] == .bool(true),
                needs: entry["needs"]?.array?.compactMap(\.string) ?? []
            )
        }
    }

    private static func bytes(_ hex: String) throws -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        try #require(digits.count == hex.count && digits.count.isMultiple(of: 2))
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// The frame without what each implementation chooses itself: texts, timeouts, and the host's description.
    private static func essence(_ frame: Frame) -> Frame {
        func code(_ failure: WireFailure?) -> WireFailure? {
            guard let failure, let code = failure.code else { return nil }
            var essence = WireFailure("", canRetry: failure.canRetry)
            essence.code = code
            return essence
        }
        switch frame {
        case .accept(var acceptance):
            acceptance.application = ""
            acceptance.schemas = PublishedSchemas()
            acceptance.version = .current
            return .accept(acceptance)
        case .refuse(let status, let failure): return .refuse(status, code(failure) ?? WireFailure(""))
        case .request(let id, _, let message, let key, _):
            return .request(id: id, timeoutMilliseconds: 0, message: message, key: key)
        case .response(let id, let status, let message, let failure):
            return .response(id: id, status: status, message: message, failure: code(failure))
        case .close(let status, let failure): return .close(status, code(failure))
        default: return frame
        }
    }

    // MARK: The document

    /// The sections in the implementers' table of rules, by rule.
    private static func documentedSections() throws -> [String: UInt64] {
        let page = try String(
            contentsOf: WireVectorTests.docs.appending(path: "implementing-the-protocol.md"),
            encoding: .utf8
        )
        let rows = page.matches(of: /\n\| `([a-z-]+)` \| ([0-9]+) \|/)
        return Dictionary(rows.compactMap { row in UInt64(row.2).map { (String(row.1), $0) } }) { first, _ in first }
    }

    @Test func `a broken rule refers to the section in the table of rules`() throws {
        let documented = try Self.documentedSections()
        #expect(documented.count > 25)
        var compared = 0
        for entry in try #require(WireVectorTests.file.get()["conversations"]?.array) {
            let isBroken = entry["outcome"]?["broken-by"] != nil
            #expect((entry["section"] != nil) == isBroken, "\(entry["name"]?.string ?? "")")
            guard isBroken, let code = entry["outcome"]?["code"]?.string, let section = documented[code] else {
                continue
            }
            #expect(entry["section"]?.unsignedInteger == section, "\(entry["name"]?.string ?? "")")
            compared += 1
        }
        #expect(compared > 80)
    }

    // MARK: Our host

    private static let service = "remote-systems.conformance"

    /// The limits of the vectors' hosts.
    private static var limits: ConnectionLimits {
        .patient { limits in
            limits.messageBytes = 4096
            limits.window = 4
            limits.windowBytes = 8192
        }
    }

    /// The service of the vectors.
    @Sendable private static func handle(_ request: IncomingRequest, on connection: Connection) async -> Response {
        switch request.message["Do"]?.string {
        case "hold":
            let (stream, hold) = AsyncStream<Void>.makeStream()
            for await _ in stream {}
            withExtendedLifetime(hold) {}
            let failure = WireFailure("It was cancelled.", code: .cancelled, canRetry: true)
            return Response(status: .failure, failure: failure)
        case "fail":
            return Response(status: .failure, failure: WireFailure("The handler failed.", code: .handlerFailed))
        case "close":
            Task { await connection.close() }
        case "ask":
            guard let number = request.message["Number"],
                let response = try? await connection.send(["Number": number], timeout: .seconds(30))
            else { return Response(status: .failure) }
            let status = Value.unsigned(response.status.rawValue)
            return Response(message: ["Status": status, "Response": .dictionary(response.message)])
        case "ask-and-cancel":
            _ = try? await connection.send([:], timeout: .milliseconds(50))
        case "ping":
            try? await connection.ask { $0.write(.ping(token: 4711)) }
        case "fill":
            return Response(message: ["Data": .data(Data(count: request.message["Bytes"]?.int ?? 0))])
        case "measure":
            return Response(message: ["Bytes": .integer(Int64(request.message["Data"]?.data?.count ?? 0))])
        default:
            break
        }
        return Response(message: request.message)
    }

    @Test(arguments: try conversations().filter { $0.brokenBy != "host" && $0.needs.isEmpty })
    func `our host follows a conversation as its vector states`(conversation: Conversation) async throws {
        let account = try TestAccount()
        let security = try TransportSecurity(identity: account.system())
        let limits = Self.limits
        let listener = try await Listener.start(
            host: "127.0.0.1",
            port: 0,
            security: security,
            limits: limits,
            logger: TestLog().logger
        ) { hello, _ in
            guard hello.targetApplication == nil else {
                return .refuse(Refusal(.appNotInstalled, code: .applicationNotFound, "Not here."))
            }
            guard hello.service == Self.service else {
                return .refuse(Refusal(.appServiceUnavailable, code: .serviceNotFound, "Not here."))
            }
            return .accept(
                EstablishedConnection(
                    acceptance: Acceptance(application: "test", limits: limits.peerLimits),
                    limits: limits,
                    handler: Self.handle,
                    opened: { _ in }
                )
            )
        }
        let peer = try await RawPeer.connect(port: listener.port, tls: .raw(as: account.system()))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await Self.play(conversation, to: peer)) } catch { outcome = .failure(error) }
        peer.close()
        await listener.stop()
        try outcome.get()
    }

    /// Sends the caller's part, and checks the host's part.
    private static func play(_ conversation: Conversation, to peer: RawPeer) async throws {
        var steps = conversation.steps[...]
        while let step = steps.popFirst() {
            if step.isCaller {
                var bytes = step.bytes
                while steps.first?.isTogether == true { bytes += steps.removeFirst().bytes }
                peer.send(bytes)
            } else if !step.isOptional {
                let frame = try #require(try await peer.nextFrame(), "the host ended the connection")
                #expect(try Self.essence(frame) == Self.essence(step.frame()))
            }
        }
        let optional = try conversation.steps.filter(\.isOptional).map { Self.essence(try $0.frame()) }
        let rest = try await peer.remainingFrames().map(Self.essence)
        #expect(rest.allSatisfy { optional.contains($0) }, "\(rest)")
    }

    // MARK: Our caller

    /// Whether our caller can produce its part: it numbers its requests itself and breaks no rule.
    private static func canSay(_ conversation: Conversation) -> Bool {
        guard conversation.brokenBy != "caller" else { return false }
        var (last, outstanding) = (UInt64(0), Set<UInt64>())
        for (index, step) in conversation.steps.enumerated() {
            guard let frame = try? step.frame() else { return !step.isCaller }
            var buffer = ByteBuffer()
            try? buffer.writeFrame(frame, limit: 1 << 24)
            switch frame {
            case _ where !step.isCaller: continue
            case _ where Array(buffer.readableBytesView) != step.bytes: return false
            case .hello(let hello): guard hello.version == .current else { return false }
            case .request(let id, _, _, _, _):
                guard id == last + 1 else { return false }
                last = id
                outstanding.insert(id)
            case .cancel(let id):
                guard outstanding.remove(id) != nil, conversation.name.contains("window") else { return false }
            case .response: continue
            case .pong:
                guard case .ping? = try? conversation.steps[index - 1].frame() else { return false }
            case .close(let status, _):
                guard status == .completed || conversation.brokenBy == "host" else { return false }
            default: return false
            }
        }
        return true
    }

    @Test func `our caller can produce its part of most conversations`() throws {
        let said = try Self.conversations().filter(Self.canSay)
        #expect(said.count >= 20, "\(said.map(\.name))")
        #expect(said.count { $0.brokenBy == "host" } >= 7)
    }

    @Test(arguments: try conversations().filter(canSay))
    func `our caller follows a conversation as its vector states`(conversation: Conversation) async throws {
        let account = try TestAccount()
        let security = try TransportSecurity(identity: account.system())
        let (port, listener, promised) = try await RawPeer.listen(with: security)
        let outcome: Result<Void, any Error>
        do {
            try await Self.response(conversation, as: account, port: port, promised)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try? await listener.close().get()
        try outcome.get()
    }

    private static func response(
        _ conversation: Conversation,
        as account: TestAccount,
        port: Int,
        _ promised: EventLoopFuture<RawPeer>
    ) async throws {
        guard case .hello(let hello)? = try conversation.steps.first?.frame() else { return }
        var limits = ConnectionLimits.patient
        limits.messageBytes = hello.limits.messageBytes
        limits.window = hello.limits.window
        limits.windowBytes = hello.limits.windowBytes
        var replies: [Response] = []
        for step in conversation.steps where step.isCaller {
            if case .response(_, let status, let message, let failure)? = try? step.frame() {
                replies.append(Response(status: status, message: message, failure: failure))
            }
        }
        let prepared = replies
        let count = Counter()
        let connector = Connector(
            security: try TransportSecurity(identity: account.system()),
            limits: limits,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        let handshake = Task {
            let endpoint = Endpoint(host: "127.0.0.1", port: port)
            return try await connector.connect(to: [endpoint], expecting: nil, hello: hello) { _, _ in
                defer { count.increase() }
                return count.value < prepared.count ? prepared[count.value] : Response()
            }
        }
        let peer = try await promised.get()
        defer { peer.close() }
        var connection: Connection?
        var calls: [UInt64: Task<Void, Never>] = [:]
        for step in conversation.steps {
            guard step.isCaller else {
                peer.send(step.bytes)
                continue
            }
            let expected = try step.frame()
            if case .hello = expected {} else if connection == nil { connection = try await handshake.value }
            if let connection { Self.act(expected, on: connection, &calls) }
            let frame = try #require(try await peer.nextFrame(), "the caller ended the connection")
            #expect(Self.essence(frame) == Self.essence(expected))
        }
        #expect(try await peer.remainingFrames().isEmpty)
        guard conversation.isOpen else {
            let error = await #expect(throws: TransportError.self) { try await handshake.value }
            #expect(error?.failureCode == conversation.code)
            return
        }
        for call in calls.values { await call.value }
    }

    /// Makes our caller send this frame.
    private static func act(_ frame: Frame, on connection: Connection, _ calls: inout [UInt64: Task<Void, Never>]) {
        switch frame {
        case .request(let id, let timeout, let message, let key, _):
            calls[id] = Task {
                _ = try? await connection.send(message, timeout: .milliseconds(Int64(timeout)), key: key)
            }
        case .cancel(let id): calls[id]?.cancel()
        case .close(.completed, _): Task { await connection.close() }
        default: break
        }
    }
}
