// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTransport
import Synchronization

/// Derives the kept and broken rules from the connection events of a host's transport.
///
/// It repeats no check of the transport: if the transport enforces a rule, its report decides. This class itself checks
/// what a host tolerates, and what only an absence shows: a missing pong, response or close.
final class ConformanceJudge: Sendable {
    /// The observed state of one connection.
    private struct Connection {
        var isSecured = false
        var isOpen = false
        /// Whether either side has sent a refuse.
        var isRefused = false
        /// Whether the connection is to the conformance service, which sends unknown frames and reads `Do` in requests.
        var isExercise = false
        var hasBroken = false
        /// The frame lengths of the client's outstanding requests, in bytes, by request id.
        var outstanding: [UInt64: Int] = [:]
        var requests = 0
        /// Whether the client has sent a frame after a response, so that it must have read the host's first frames.
        var hasReadOn = false
        var hasResponded = false
        /// Whether the host has responded with status 5 and no frame has come since.
        var isResponseTooLarge = false
        var closedByClient: CloseStatus?
        /// Whether the client asked the host to close the connection.
        var isHostClosing = false
        var pongsDue = 0
        /// The host's requests that the client asked for, in order. `true` if the host cancels the request; `nil` once
        /// the client has responded.
        var asked: [Bool?] = []
        var failure: (any Error)?
        /// The findings that have not yet been reported.
        var findings: [(rule: ConformanceRule, seen: String)] = []

        /// Records that the client broke a rule.
        ///
        /// - Parameter ends: Whether the connection ends because of it, so that later events say nothing about the
        ///   client.
        mutating func breaks(_ rule: ConformanceRule, _ seen: String, ends: Bool = true) {
            if ends { self.hasBroken = true }
            self.findings.append((rule, seen))
        }
    }

    private struct State {
        var connections: [UInt64: Connection] = [:]
        /// The messages of requests, by idempotency key.
        var messages: [[UInt8]: ValueSet] = [:]
    }

    /// The maximum number of remembered keys, and of the host's requests on one connection.
    private static let (maxKeys, maxQuestions) = (1024, 100_000)

    private let record: ConformanceRecord
    private let limits: ConformanceService.Limits
    /// Whether the host belongs to another account, so that clients must not send it a hello.
    let isImpostor: Bool
    private let state = Mutex(State())

    init(record: ConformanceRecord, limits: ConformanceService.Limits, isImpostor: Bool = false) {
        self.record = record
        self.limits = limits
        self.isImpostor = isImpostor
    }

    var observer: ConnectionObserver {
        ConnectionObserver { number, event in self.observe(number, event) }
    }

    private func observe(_ number: UInt64, _ event: ConnectionEvent) {
        let findings = self.state.withLock { state in
            var connection = state.connections[number] ?? Connection()
            if self.isImpostor {
                self.judgeImpostor(event, &connection)
            } else {
                self.judge(event, &connection, &state.messages)
            }
            let findings = connection.findings
            connection.findings = []
            if case .ended = event {
                state.connections[number] = nil
            } else {
                state.connections[number] = connection
            }
            return findings
        }
        for (rule, seen) in findings {
            self.record.add(ConformanceRecord.Finding(rule: rule, connection: number, seen: seen))
        }
    }

    /// Judges a connection to the host of another account, which the client must not trust.
    private func judgeImpostor(_ event: ConnectionEvent, _ connection: inout Connection) {
        switch event {
        case .secured: connection.isSecured = true
        case .received(.refuse, _): break
        case .received(let frame, _):
            guard !connection.hasBroken else { return }
            connection.breaks(.hostNotVerified, "\(frame.kindName) to a host of another account.")
        case .ended:
            if connection.isSecured, !connection.hasBroken { self.record.keep(.hostNotVerified) }
        default: break
        }
    }

    private func judge(
        _ event: ConnectionEvent,
        _ connection: inout Connection,
        _ messages: inout [[UInt8]: ValueSet]
    ) {
        switch event {
        case .secured(let alpn, let error):
            connection.isSecured = true
            self.record.keep(.tls)
            if let error {
                connection.breaks(error.rule ?? .certificateInvalid, error.message)
            } else {
                self.record.keep(
                    .certificateInvalid,
                    .certificateExpired,
                    .certificateNotYetValid,
                    .otherAccount,
                    .revoked
                )
                if alpn == ProtocolVersion.alpn { self.record.keep(.protocolNotNegotiated) }
            }
        case .opened:
            connection.isOpen = true
            self.record.keep(.helloMalformed, .helloLate)
        case .refused(let refusal):
            connection.isRefused = true
            guard !connection.hasBroken else { return }
            if let rule = refusal.failure.code.flatMap({ ConformanceRule(rawValue: $0) }) {
                connection.breaks(rule, refusal.failure.text)
            }
        case .refusalIgnored(let how):
            guard !connection.hasBroken else { return }
            connection.breaks(.refusal, how)
        case .received(let frame, let bytes):
            self.judge(frame, bytes, &connection, &messages)
        case .responded(let id, let status):
            connection.outstanding[id] = nil
            connection.hasResponded = true
            if status == .messageTooLarge { connection.isResponseTooLarge = true }
        case .violation(let error):
            connection.breaks(error.rule ?? .frameMalformed, error.message)
        case .helloTimedOut:
            connection.breaks(.helloLate, "No complete hello came in time.")
        case .failed(let error):
            if connection.isSecured {
                connection.failure = error
            } else {
                connection.breaks(.tls, "The handshake failed: \(error)")
            }
        case .ended(let status):
            self.judgeEnd(status, &connection)
        }
    }

    private func judge(
        _ frame: Frame,
        _ bytes: Int,
        _ connection: inout Connection,
        _ messages: inout [[UInt8]: ValueSet]
    ) {
        self.record.keep(.frameEmpty, .frameMalformed)
        if bytes > self.limits.messageBytes * 3 / 4 { self.record.keep(.frameTooLong) }
        if connection.isExercise, connection.isOpen, connection.hasResponded, !connection.hasReadOn {
            connection.hasReadOn = true
            self.record.keep(.acceptKeys, .unknownFrames, .frameUnexpected)
        }
        if connection.isResponseTooLarge {
            connection.isResponseTooLarge = false
            self.judgeFrameAfterTooLarge(frame, &connection)
        }
        switch frame {
        case .hello(let hello): connection.isExercise = hello.service == ConformanceService.name
        case .refuse: if !connection.isOpen { connection.isRefused = true }
        case .request(let id, _, let message, let key, _):
            self.record.keep(.messageMalformed)
            self.judgeRequest(id, bytes, &connection)
            if connection.isExercise { self.take(message, &connection) }
            guard let key else { return }
            // The limit keeps clients from exhausting memory. Reuse of a forgotten key is not noticed.
            if messages.count >= Self.maxKeys { messages.removeAll() }
            if let before = messages[key], before != message {
                connection.breaks(.keyReused, "The client sent one key with two different messages.", ends: false)
            } else if messages.updateValue(message, forKey: key) != nil {
                self.record.keep(.keyReused)
            }
        case .malformed(let kind, let id, let error):
            switch kind {
            case .request: self.judgeRequest(id, bytes, &connection)
            default: _ = Self.takeAsked(id, &connection)
            }
            connection.breaks(.messageMalformed, "The message of \(kind) \(id) cannot be read: \(error)", ends: false)
        case .cancel(let id):
            if connection.outstanding[id] != nil { self.record.keep(.cancel) }
        case .response(let id, _, _, _):
            guard let isCancelled = Self.takeAsked(id, &connection) else { return }
            self.record.keep(.responseUnexpected, isCancelled ? .cancelledUnanswered : .requestUnanswered)
        case .pong(let token):
            guard connection.pongsDue > 0 else { return }
            connection.pongsDue -= 1
            if token == ConformanceService.pingToken {
                self.record.keep(.pong)
            } else {
                let sent = ConformanceService.pingToken
                connection.breaks(.pong, "A pong with the token \(token), where the ping had \(sent).", ends: false)
            }
        case .close(let status, let failure):
            connection.closedByClient = status
            if connection.isHostClosing, status == .completed { self.record.keep(.closeUnanswered) }
            // A close with any other code may have a reason of the client's own.
            if let failure, let code = failure.code, Self.complaints.contains(code), connection.isExercise,
                !connection.hasReadOn, !connection.hasBroken
            {
                let seen = "A close with the code \(code) (\(failure.text)) after an unknown frame."
                connection.breaks(.unknownFrames, seen)
            }
        default: break
        }
    }

    /// The failure codes of a close because of a frame.
    private static let complaints = Set(
        [FailureCode.frameTooLong, .frameEmpty, .frameMalformed, .frameUnexpected].map(\.rawValue)
    )

    /// Judges the client's first frame after a response with status 5.
    private func judgeFrameAfterTooLarge(_ frame: Frame, _ connection: inout Connection) {
        switch frame {
        case .close(.cancelled, _): break
        case .close(let status, _) where status != .completed:
            let seen = "A close with status \(status.rawValue) after a response with status 5."
            if !connection.hasBroken { connection.breaks(.responseTooLarge, seen) }
        default: self.record.keep(.responseTooLarge)
        }
    }

    /// Marks a request of the host as responded to.
    ///
    /// - Returns: Whether the host cancelled the request; `nil` if no such request is outstanding.
    private static func takeAsked(_ id: UInt64, _ connection: inout Connection) -> Bool? {
        let index = Int(clamping: id) - 1
        guard connection.asked.indices.contains(index) else { return nil }
        defer { connection.asked[index] = nil }
        return connection.asked[index]
    }

    private func judgeRequest(_ id: UInt64, _ bytes: Int, _ connection: inout Connection) {
        connection.requests += 1
        if connection.requests > 1 { self.record.keep(.requestOutOfOrder) }
        connection.outstanding[id] = bytes
        if connection.outstanding.count == self.limits.window { self.record.keep(.windowExceeded) }
        let sum = connection.outstanding.values.reduce(0, +)
        if connection.outstanding.count > 1, sum <= self.limits.windowBytes, sum > self.limits.windowBytes / 2 {
            self.record.keep(.windowBytesExceeded)
        }
    }

    /// Records what the service will do for this message.
    private func take(_ message: ValueSet, _ connection: inout Connection) {
        guard connection.asked.count < Self.maxQuestions else { return }
        switch ConformanceService.Action(message) {
        case .ask: connection.asked.append(false)
        case .askAndCancel: connection.asked.append(true)
        case .ping: connection.pongsDue += 1
        case .close: connection.isHostClosing = true
        default: break
        }
    }

    private func judgeEnd(_ status: CloseStatus?, _ connection: inout Connection) {
        if connection.isRefused, !connection.hasBroken { self.record.keep(.refusal) }
        guard connection.isOpen, !connection.hasBroken else { return }
        let asked = connection.asked.compactMap(\.self)
        if connection.pongsDue > 0 { connection.breaks(.pong, "The connection ended without a pong.") }
        for isCancelled in asked {
            connection.breaks(
                isCancelled ? .cancelledUnanswered : .requestUnanswered,
                "The connection ended without a response to the host's request."
            )
        }
        if connection.isResponseTooLarge {
            connection.breaks(.responseTooLarge, "The connection ended after a response with status 5.", ends: false)
        }
        let isUnclean = connection.failure != nil
        switch connection.closedByClient {
        case nil where connection.isHostClosing:
            connection.breaks(.closeUnanswered, "The connection ended, or 5 s passed, without the client's close.")
        case nil:
            connection.breaks(.close, "The connection ended without a close.")
        case .some:
            if !isUnclean { self.record.keep(.close, .closeNotify) }
            if status == .completed { self.record.keep(.requestAfterClose) }
        }
        if let failure = connection.failure, connection.closedByClient != nil {
            connection.breaks(.closeNotify, "TCP ended without close_notify: \(failure)")
        }
    }
}

extension TransportError {
    fileprivate var rule: ConformanceRule? { self.failureCode.flatMap { ConformanceRule(rawValue: $0) } }
}

extension Frame {
    /// The name of the frame's kind in `Docs/wire-protocol.md`.
    fileprivate var kindName: String {
        switch self {
        case .hello: "A hello"
        case .accept: "An accept"
        case .refuse: "A refuse"
        case .request: "A request"
        case .response: "A response"
        case .cancel: "A cancel"
        case .ping: "A ping"
        case .pong: "A pong"
        case .close: "A close"
        case .data: "Bytes of a stream"
        case .fin: "An end of a stream"
        case .abort: "An abort of a stream"
        case .state: "A state frame"
        case .malformed, .unknown: "A frame"
        }
    }
}
