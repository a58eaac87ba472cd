// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

typealias TestMachine = ConnectionStateMachine<String, String>

@Suite final class ConnectionStateMachineTests {
    private var machine = TestMachine(
        limits: ConnectionLimits(),
        peer: PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024),
        now: .at(0)
    )

    private func send(_ call: String) -> UInt64 {
        let id = self.machine.reserveID()
        if case .encode = self.machine.submit(id: id, call, deadline: .distantFuture) {
            _ = self.machine.encoded(id: id, bytes: 10)
        }
        return id
    }

    private func receive(_ id: UInt64) -> OnRequest<String> {
        self.machine.receivedRequest(id: id, bytes: 10, deadline: .distantFuture, request: "request")
    }

    private func steps() -> [String] {
        var steps: [String] = []
        while steps.count < 100 {
            switch self.machine.nextStep() {
            case .nothing: return steps
            case .encode(let id, let call):
                _ = self.machine.encoded(id: id, bytes: 10)
                steps.append("send \(call)")
            case .writeHeld: steps.append("write held")
            case .dispatch(_, let request): steps.append("start \(request)")
            case .respondCancelled(let id): steps.append("cancelled \(id)")
            case .sendClose(let status): steps.append("close \(status.rawValue)")
            case .finish(let status):
                steps.append("finish \(status.rawValue)")
            }
        }
        return steps
    }

    // MARK: Graceful close

    @Test func `an idle connection closes when both sides have sent their close`() {
        self.machine.close(.completed, until: .at(5_000))
        #expect(self.steps() == ["close 0"])
        #expect(self.machine.receivedClose(.completed, until: .at(5_000)).isEmpty)
        #expect(self.steps() == ["finish 0"])
        #expect(self.steps() == [])
    }

    @Test func `the side that receives a close responds with its own`() {
        _ = self.machine.receivedClose(.completed, until: .at(5_000))
        #expect(self.steps() == ["close 0", "finish 0"])
    }

    @Test func `a close waits for calls in progress in both directions`() {
        let call = self.send("call")
        _ = self.receive(1)
        self.machine.close(.completed, until: .at(5_000))
        _ = self.machine.receivedClose(.completed, until: .at(5_000))
        #expect(self.steps() == ["close 0"])
        _ = self.machine.receivedResponse(id: call)
        #expect(self.steps() == [])
        #expect(self.machine.handlerFinished(id: 1) == true)
        #expect(self.steps() == ["finish 0"])
    }

    @Test func `calls that wait for the window are sent before a close`() {
        let first = self.send("first")
        _ = self.send("second")
        self.machine.close(.completed, until: .at(5_000))
        #expect(self.steps() == [])
        _ = self.machine.receivedResponse(id: first)
        #expect(self.steps() == ["send second", "close 0"])
    }

    @Test func `calls that wait for the window fail unsent when the peer closes`() {
        let first = self.send("first")
        _ = self.send("second")
        #expect(self.machine.receivedClose(.completed, until: .at(5_000)) == ["second"])
        #expect(self.steps() == ["close 0"])
        #expect(self.machine.receivedResponse(id: first).completed == "first")
        #expect(self.steps() == ["finish 0"])
    }

    @Test func `no call is accepted once the connection is closing`() {
        self.machine.close(.completed, until: .at(5_000))
        let id = self.machine.reserveID()
        guard case .reject("late", .completed) = self.machine.submit(id: id, "late", deadline: .distantFuture) else {
            Issue.record("it was taken")
            return
        }
    }

    @Test func `requests are accepted until the peer's close`() {
        self.machine.close(.completed, until: .at(5_000))
        guard case .dispatch = self.receive(1) else {
            Issue.record("it may have been on its way")
            return
        }
        _ = self.machine.receivedClose(.completed, until: .at(5_000))
        guard case .violation = self.receive(2) else {
            Issue.record("the peer had said that no more would come")
            return
        }
    }

    @Test func `draining ends at its timeout`() {
        _ = self.send("call")
        self.machine.close(.completed, until: .at(2_000))
        #expect(self.machine.nextWakeUp == .at(2_000))
        #expect(!self.machine.tick(now: .at(1_999)).isDrainOver)
        #expect(self.machine.tick(now: .at(2_000)).isDrainOver)
    }

    @Test func `a second close does not extend the timeout`() {
        self.machine.close(.completed, until: .at(2_000))
        self.machine.close(.cancelled, until: .at(9_000))
        #expect(self.machine.nextWakeUp == .at(2_000))
        #expect(self.steps() == ["close 0"])
    }

    // MARK: Loss

    @Test func `a connection that is lost without a close ends with the given status`() {
        _ = self.send("sent")
        _ = self.send("waiting")
        let lost = self.machine.lost(.unknown)
        #expect(lost.status == .unknown)
        #expect(lost.sent == ["sent"])
        #expect(lost.unsent == ["waiting"])
    }

    @Test func `a connection is lost once`() {
        _ = self.send("sent")
        _ = self.machine.lost(.unknown)
        let again = self.machine.lost(.cancelled)
        #expect(again.status == .unknown)
        #expect(again.sent.isEmpty)
    }

    @Test func `the peer's reason for closing is kept after the loss`() {
        _ = self.send("sent")
        _ = self.machine.receivedClose(.resourceLimitsExceeded, until: .at(5_000))
        #expect(self.machine.lost(.unknown).status == .resourceLimitsExceeded)
    }

    @Test func `a loss while draining is not a completed close`() {
        _ = self.send("sent")
        self.machine.close(.completed, until: .at(5_000))
        _ = self.machine.receivedClose(.completed, until: .at(5_000))
        _ = self.steps()
        #expect(self.machine.lost(.unknown).status == .unknown)
    }

    @Test func `a loss after both sides were done is a completed close`() {
        self.machine.close(.completed, until: .at(5_000))
        _ = self.steps()
        _ = self.machine.receivedClose(.completed, until: .at(5_000))
        #expect(self.machine.lost(.unknown).status == .completed)
    }

    @Test func `responses of handlers that outlive the connection are dropped`() {
        _ = self.receive(1)
        #expect(self.machine.lost(.unknown).running == [1])
        #expect(self.machine.handlerFinished(id: 1) == false)
    }

    // MARK: Time

    @Test func `everything that is due is reported together`() {
        let id = self.machine.reserveID()
        _ = self.machine.submit(id: id, "call", deadline: .at(5_000))
        _ = self.machine.encoded(id: id, bytes: 10)
        _ = self.machine.receivedRequest(id: 1, bytes: 10, deadline: .at(4_000), request: "request")
        #expect(self.machine.nextWakeUp == .at(4_000))
        let due = self.machine.tick(now: .at(5_000))
        #expect(due.expired.map(\.call) == ["call"])
        #expect(due.overdue == [1])
        #expect(due.ping == 1)
        #expect(!due.isPeerDead)
    }

    @Test func `data from the peer postpones the dead-peer timeout`() {
        for time in [5_000, 10_000] as [Int64] { _ = self.machine.tick(now: .at(time)) }
        self.machine.heardFromPeer(now: .at(14_000))
        for time in [15_000, 19_000, 24_000] as [Int64] {
            #expect(self.machine.tick(now: .at(time)).isPeerDead == false)
        }
        #expect(self.machine.tick(now: .at(29_000)).isPeerDead == true)
    }

    @Test func `trust ends with the peer's certificate`() {
        var machine = TestMachine(
            limits: ConnectionLimits(),
            peer: .least,
            now: .at(0),
            trustEnd: .at(1_000)
        )
        #expect(machine.nextWakeUp == .at(1_000))
        #expect(!machine.tick(now: .at(999)).isTrustOver)
        #expect(machine.tick(now: .at(1_000)).isTrustOver)
    }
}
