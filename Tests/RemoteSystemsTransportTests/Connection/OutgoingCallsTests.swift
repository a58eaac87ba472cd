// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct OutgoingCallsTests {
    private var calls = OutgoingCalls<String>(window: PeerLimits(messageBytes: 1024, window: 2, windowBytes: 1024))

    /// Submits a call of this many bytes that is sent at once.
    private mutating func sent(_ call: String, bytes: Int = 10, deadline: NIODeadline = .distantFuture) -> UInt64 {
        let id = self.calls.reserveID()
        guard case .encode = self.calls.submit(id: id, call, deadline: deadline) else {
            Issue.record("\(call) had to wait")
            return id
        }
        #expect(self.calls.encoded(id: id, bytes: bytes) == true)
        return id
    }

    private mutating func waiting(_ call: String, deadline: NIODeadline = .distantFuture) -> UInt64 {
        let id = self.calls.reserveID()
        if case .wait = self.calls.submit(id: id, call, deadline: deadline) { return id }
        Issue.record("\(call) did not have to wait")
        return id
    }

    private mutating func encodesNext() -> String? {
        guard case .encode(_, let call) = self.calls.nextStep() else { return nil }
        return call
    }

    private mutating func isWritingHeld() -> Bool {
        guard case .writeHeld = self.calls.nextStep() else { return false }
        return true
    }

    @Test mutating func `call numbers start at 1 and increase`() {
        #expect(self.calls.reserveID() == 1)
        #expect(self.calls.reserveID() == 2)
    }

    @Test mutating func `a response completes its call, in any order`() {
        let first = self.sent("first")
        let second = self.sent("second")
        #expect(self.calls.receivedResponse(id: second).completed == "second")
        #expect(self.calls.receivedResponse(id: first).completed == "first")
        #expect(self.calls.isEmpty)
    }

    @Test mutating func `the number of waiting calls is bounded, and sent calls free places`() {
        let first = self.sent("first")
        _ = self.sent("second")
        for _ in 0..<OutgoingCalls<String>.maxWaiting { _ = self.waiting("waiting") }
        let id = self.calls.reserveID()
        guard case .overflow("excess") = self.calls.submit(id: id, "excess", deadline: .distantFuture) else {
            Issue.record("it was taken")
            return
        }
        _ = self.calls.receivedResponse(id: first)
        #expect(self.encodesNext() == "waiting")
        _ = self.waiting("last")
    }

    @Test mutating func `calls beyond the window wait and are sent in order of arrival`() {
        let first = self.sent("first")
        _ = self.sent("second")
        _ = self.waiting("third")
        _ = self.waiting("fourth")
        #expect(self.encodesNext() == nil)
        _ = self.calls.receivedResponse(id: first)
        #expect(self.encodesNext() == "third")
        #expect(self.encodesNext() == nil)
    }

    @Test mutating func `a later call does not overtake a waiting one`() {
        let first = self.sent("first")
        _ = self.sent("second")
        _ = self.waiting("third")
        _ = self.calls.receivedResponse(id: first)
        _ = self.waiting("fourth")
    }

    @Test mutating func `a frame that exceeds the window's bytes is held until it fits, and blocks later ones`() {
        let first = self.sent("first", bytes: 600)
        let second = self.calls.reserveID()
        guard case .encode = self.calls.submit(id: second, "second", deadline: .distantFuture) else {
            Issue.record("there was room in the window")
            return
        }
        #expect(self.calls.encoded(id: second, bytes: 425) == false)
        _ = self.waiting("third")
        #expect(self.isWritingHeld() == false)
        #expect(!self.calls.allTransmitted)
        _ = self.calls.receivedResponse(id: first)
        #expect(self.isWritingHeld() == true)
        #expect(self.encodesNext() == "third")
    }

    @Test mutating func `a single frame always fits`() {
        _ = self.sent("huge", bytes: 5_000)
    }

    @Test mutating func `a response to a call that is not outstanding is a violation`() {
        #expect(self.calls.receivedResponse(id: 1).isViolation)
        let first = self.sent("first")
        _ = self.calls.receivedResponse(id: first)
        #expect(self.calls.receivedResponse(id: first).isViolation)
    }

    @Test mutating func `a response to a held or waiting call is a violation`() {
        _ = self.sent("first", bytes: 1_000)
        let held = self.calls.reserveID()
        _ = self.calls.submit(id: held, "held", deadline: .distantFuture)
        _ = self.calls.encoded(id: held, bytes: 1_000)
        let waiting = self.waiting("waiting")
        #expect(self.calls.receivedResponse(id: held).isViolation)
        #expect(self.calls.receivedResponse(id: waiting).isViolation)
    }

    @Test
    mutating func `cancelling a sent call notifies the peer, and its place is taken until the response`() {
        let first = self.sent("first")
        _ = self.sent("second")
        guard case .sendCancel("first") = self.calls.cancel(id: first) else {
            Issue.record("it is with the peer")
            return
        }
        guard case .nothing = self.calls.cancel(id: first) else {
            Issue.record("it was cancelled already")
            return
        }
        _ = self.waiting("third")
        #expect(self.encodesNext() == nil)
        #expect(self.calls.receivedResponse(id: first).isIgnored)
        #expect(self.encodesNext() == "third")
    }

    @Test mutating func `cancelling a waiting or held call sends nothing`() {
        _ = self.sent("first", bytes: 1_000)
        let held = self.calls.reserveID()
        _ = self.calls.submit(id: held, "held", deadline: .distantFuture)
        _ = self.calls.encoded(id: held, bytes: 1_000)
        let waiting = self.waiting("waiting")
        guard case .drop("waiting") = self.calls.cancel(id: waiting), case .drop("held") = self.calls.cancel(id: held)
        else {
            Issue.record("neither has left")
            return
        }
        #expect(self.calls.allTransmitted)
    }

    @Test mutating func `a call past its deadline ends, and reports whether it was sent`() {
        let sent = self.sent("sent", deadline: .at(100))
        _ = self.sent("patient", deadline: .at(500))
        let waiting = self.waiting("waiting", deadline: .at(200))
        #expect(self.calls.earliestDeadline == .at(100))
        #expect(self.calls.expire(now: .at(99)).isEmpty)

        let expired = self.calls.expire(now: .at(200))
        #expect(expired.map(\.id) == [sent, waiting])
        #expect(expired.map(\.wasSent) == [true, false])
        #expect(self.calls.earliestDeadline == .at(500))
        // The peer's response may still arrive. It is ignored, and is no violation.
        #expect(self.calls.receivedResponse(id: sent).isIgnored)
    }

    @Test mutating func `a held call past its deadline was not sent`() {
        _ = self.sent("first", bytes: 1_000)
        let held = self.calls.reserveID()
        _ = self.calls.submit(id: held, "held", deadline: .at(100))
        _ = self.calls.encoded(id: held, bytes: 1_000)
        #expect(self.calls.expire(now: .at(100)).map(\.wasSent) == [false])
        #expect(self.calls.allTransmitted)
    }

    @Test mutating func `a lost connection fails each call once, and reports whether it was sent`() {
        _ = self.sent("sent", bytes: 1_000)
        let held = self.calls.reserveID()
        _ = self.calls.submit(id: held, "held", deadline: .distantFuture)
        _ = self.calls.encoded(id: held, bytes: 1_000)
        _ = self.waiting("waiting")
        let lost = self.calls.removeAll()
        #expect(lost.sent == ["sent"])
        #expect(Set(lost.unsent) == ["held", "waiting"])
        #expect(self.calls.isEmpty)
        #expect(self.calls.removeAll().sent.isEmpty)
    }

    @Test mutating func `a call that could not be encoded frees its place`() {
        let id = self.calls.reserveID()
        _ = self.calls.submit(id: id, "odd", deadline: .distantFuture)
        #expect(self.calls.forget(id: id) == "odd")
        #expect(self.calls.isEmpty)
    }
}

extension OnResponse {
    var completed: Call? {
        if case .complete(let call) = self { call } else { nil }
    }

    var isIgnored: Bool {
        if case .ignore = self { true } else { false }
    }

    var isViolation: Bool {
        if case .violation = self { true } else { false }
    }
}
