// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct IncomingRequestsTests {
    private var requests = IncomingRequests<String>(window: 3, windowBytes: 1_000, concurrency: 1)

    private mutating func received(
        _ id: UInt64,
        _ request: String = "request",
        bytes: Int = 10,
        isHeld: Bool = true,
        deadline: NIODeadline = .distantFuture
    ) -> String {
        switch self.requests.received(id: id, bytes: bytes, isHeld: isHeld, deadline: deadline, request: request) {
        case .dispatch(let request): "start \(request)"
        case .queued: "queued"
        case .violation: "violation"
        case .excess: "excess"
        }
    }

    @Test mutating func `requests start in order of arrival, up to the agreed concurrency`() {
        #expect(self.received(1, "first") == "start first")
        #expect(self.received(2, "second") == "queued")
        #expect(self.received(3, "third") == "queued")
        #expect(self.requests.nextRequest() == nil)
        #expect(self.requests.finished(id: 1) == true)
        #expect(self.requests.nextRequest()?.1 == "second")
        #expect(self.requests.nextRequest() == nil)
    }

    @Test mutating func `requests beyond the number that the host permits wait until it permits more`() {
        self.requests = IncomingRequests(window: 4, windowBytes: 1_000, concurrency: 3)
        self.requests.permitted = 1
        #expect(!self.requests.isHeldBack)
        #expect(self.received(1) == "start request")
        #expect(self.requests.isHeldBack)
        #expect(self.received(2, "second") == "queued")
        #expect(self.requests.nextRequest() == nil)
        self.requests.permitted = 8
        #expect(!self.requests.isHeldBack)
        #expect(self.requests.nextRequest()?.1 == "second")
        #expect(self.received(3) == "start request")
        // The agreed concurrency stays.
        #expect(self.received(4) == "queued")
        #expect(!self.requests.isHeldBack)
    }

    @Test(arguments: [[1, 1], [2, 1], [0]] as [[UInt64]])
    func `a request number that does not increase is a violation`(ids: [UInt64]) {
        var test = self
        let outcomes = ids.map { test.received($0) }
        #expect(outcomes.last == "violation")
    }

    @Test mutating func `request numbers may have gaps`() {
        #expect(self.received(7) == "start request")
        #expect(self.received(UInt64.max) == "queued")
    }

    @Test mutating func `more requests than the window are excess`() {
        for id in 1...3 as ClosedRange<UInt64> { #expect(self.received(id) != "excess") }
        #expect(self.received(4) == "excess")
    }

    @Test mutating func `bytes beyond the window are excess, unless there is only one request`() {
        #expect(self.received(1, bytes: 5_000) == "start request")
        #expect(self.received(2, bytes: 1) == "excess")
        #expect(self.requests.finished(id: 1) == true)
        #expect(self.received(3, bytes: 600) == "start request")
        #expect(self.received(4, bytes: 400) == "queued")
        #expect(self.received(5, bytes: 1) == "excess")
    }

    @Test mutating func `no request starts while responses cannot be written`() {
        self.requests.isWritable = false
        #expect(self.received(1, "first") == "queued")
        #expect(self.requests.nextRequest() == nil)
        self.requests.isWritable = true
        #expect(self.requests.nextRequest()?.1 == "first")
    }

    @Test mutating func `cancelling a running request cancels its handler, and its response is still sent`() {
        _ = self.received(1)
        guard case .cancelHandler = self.requests.receivedCancel(id: 1) else {
            Issue.record("it runs")
            return
        }
        #expect(self.requests.finished(id: 1) == true)
    }

    @Test mutating func `cancelling a queued request responds to it and frees its place`() {
        _ = self.received(1, bytes: 500)
        _ = self.received(2, "second", bytes: 500)
        guard case .responseCancelled = self.requests.receivedCancel(id: 2) else {
            Issue.record("it had not started")
            return
        }
        #expect(self.received(3, bytes: 500) == "queued")
    }

    @Test mutating func `cancelling a completed or unknown request changes nothing`() {
        _ = self.received(1)
        _ = self.requests.finished(id: 1)
        for id in [1, 9] as [UInt64] {
            guard case .nothing = self.requests.receivedCancel(id: id) else {
                Issue.record("there is nothing to cancel")
                return
            }
        }
    }

    @Test mutating func `a request that exceeds its deadline is reported once`() {
        _ = self.received(1, deadline: .at(100))
        #expect(self.requests.expire(now: .at(99)).isEmpty)
        #expect(self.requests.expire(now: .at(100)) == [1])
        #expect(self.requests.expire(now: .at(101)).isEmpty)
        #expect(self.requests.finished(id: 1) == true)
    }

    @Test mutating func `a request whose deadline passes in the queue is dropped, and keeps its place in the window`() {
        _ = self.received(1, bytes: 100)
        _ = self.received(2, bytes: 400, deadline: .at(100))
        _ = self.received(3, "third", bytes: 500, deadline: .at(300))
        #expect(self.requests.earliestDeadline == .at(100))
        #expect(self.requests.expire(now: .at(200)).isEmpty)
        #expect(self.requests.heldBytes == 600)
        #expect(self.requests.earliestDeadline == .at(300))
        #expect(self.received(4) == "excess")
        _ = self.requests.finished(id: 1)
        let second = self.requests.nextRequest()
        #expect(second?.id == 2 && second?.request == nil)
        // It occupies no handler.
        #expect(self.requests.nextRequest()?.request == "third")
        #expect(self.requests.expire(now: .at(300)) == [3])
        #expect(self.requests.finished(id: 2) == false)
        #expect(self.received(5, bytes: 500) == "queued")
        #expect(self.received(6, bytes: 1) == "excess")
    }

    @Test mutating func `a request that starts before its deadline is overdue at that time`() {
        _ = self.received(1)
        _ = self.received(2, deadline: .at(100))
        _ = self.requests.finished(id: 1)
        #expect(self.requests.nextRequest()?.id == 2)
        #expect(self.requests.earliestDeadline <= .at(100))
        #expect(self.requests.expire(now: .at(100)) == [2])
    }

    @Test mutating func `while responses cannot be written, a cancelled request is dropped and keeps its place`() {
        self.requests.isWritable = false
        for id in 1...3 as ClosedRange<UInt64> { #expect(self.received(id, bytes: 100) == "queued") }
        for id in 1...3 as ClosedRange<UInt64> {
            guard case .nothing = self.requests.receivedCancel(id: id) else {
                Issue.record("a response would be written")
                return
            }
        }
        #expect(self.requests.heldBytes == 0)
        #expect(self.received(4) == "excess")
        self.requests.isWritable = true
        for id in 1...3 as ClosedRange<UInt64> {
            let next = self.requests.nextRequest()
            #expect(next?.id == id && next?.request == nil)
        }
        #expect(self.requests.isEmpty)
    }

    @Test mutating func `the held bytes are those of the requests without a response, except rejected ones`() {
        #expect(self.received(1, bytes: 100) == "start request")
        #expect(self.received(2, bytes: 200) == "queued")
        #expect(self.received(3, bytes: 300, isHeld: false) == "queued")
        #expect(self.requests.heldBytes == 300)
        _ = self.requests.receivedCancel(id: 2)
        #expect(self.requests.heldBytes == 100)
        _ = self.requests.finished(id: 1)
        #expect(self.requests.heldBytes == 0)
        #expect(self.requests.nextRequest()?.id == 3)
        // A rejected request counts in the window until its response.
        #expect(self.received(4, bytes: 701) == "excess")
        #expect(self.requests.finished(id: 3) == true)
        #expect(self.requests.heldBytes == 0)
        #expect(self.received(5, bytes: 701) == "start request")
        #expect(self.received(6, bytes: 100) == "queued")
        #expect(self.requests.dropQueued() == [5])
        #expect(self.requests.heldBytes == 701)
        _ = self.requests.finished(id: 5)
        #expect(self.requests.heldBytes == 0)
    }

    @Test mutating func `a response is accepted once, and the requests that run stay when the connection is lost`() {
        _ = self.received(1)
        _ = self.received(2)
        #expect(self.requests.finished(id: 1) == true)
        #expect(self.requests.finished(id: 1) == false)
        _ = self.requests.nextRequest()
        _ = self.received(3)
        #expect(self.requests.dropQueued() == [2])
        #expect(self.requests.finished(id: 3) == false)
        #expect(self.requests.finished(id: 2) == true)
        #expect(self.requests.isEmpty)
    }
}
