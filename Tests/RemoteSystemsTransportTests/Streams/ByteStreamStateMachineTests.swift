// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// The rules of a stream, without a network: events in, actions out.
@Suite struct ByteStreamStateMachineTests {
    private enum Event: Sendable {
        case data, fin, close, write(UInt64, Int), finish(UInt64), cancelWrite(UInt64)
        case blocked, writable, networkRead(isFull: Bool), space, abort, peerAborts, connectionEnds
    }

    /// The machine's results for each event, and the actions that it then requests, as text.
    private static func run(_ events: [Event], limits: StreamLimits = StreamLimits()) -> [String] {
        var machine = ByteStreamStateMachine(limits: limits, now: .at(0))
        var log: [String] = []
        for event in events {
            switch event {
            case .data: Self.note(machine.receivedData(), &log)
            case .fin: Self.note(machine.receivedFin(), &log)
            case .close: Self.note(machine.receivedClose(), &log)
            case .write(let id, let bytes):
                let outcome = machine.write(id: id, bytes: bytes)
                if outcome != .wait { log.append("write: \(outcome)") }
            case .finish(let id):
                let outcome = machine.finish(id: id)
                if outcome != .wait { log.append("finish: \(outcome)") }
            case .cancelWrite(let id): log.append("cancel: \(machine.cancelWrite(id: id))")
            case .blocked: machine.writabilityChanged(false, now: .at(0))
            case .writable: machine.writabilityChanged(true, now: .at(0))
            case .networkRead(let isFull): log.append(machine.networkWantsRead(isFull: isFull) ? "goes on" : "held")
            case .space: machine.inboxHasSpace()
            case .abort: log.append("abort: \(machine.abort(now: .at(0)))")
            case .peerAborts: log.append("peer aborts: \(machine.receivedAbort())")
            case .connectionEnds: log.append("\(machine.connectionEnded())")
            }
            while case let step = machine.nextStep(now: .at(0)), step != .nothing { log.append("\(step)") }
        }
        return log
    }

    private static func note(_ outcome: ByteStreamStateMachine.OnReceive, _ log: inout [String]) {
        if outcome != .accept { log.append("\(outcome)") }
    }

    @Test func `the network is not read while the unread bytes reach their limit`() {
        #expect(Self.run([.data, .networkRead(isFull: false)]) == ["goes on"])
        #expect(Self.run([.data, .networkRead(isFull: true), .data, .space]) == ["held", "readNetwork"])
        // Space that was made before does not count.
        #expect(Self.run([.space, .networkRead(isFull: true)]) == ["held"])
    }

    @Test func `after the input's end the network is always read, for the peer's last frame`() {
        #expect(
            Self.run([.data, .networkRead(isFull: true), .fin, .networkRead(isFull: true)]) == [
                "held", "readNetwork", "goes on",
            ]
        )
    }

    @Test func `a write is sent in frames of 64 KiB with their heads, and returns after the last of them`() {
        #expect(Self.run([.write(1, 65_527)]) == ["send(bytes: 65527)", "written"])
        #expect(Self.run([.write(1, 65_528)]) == ["send(bytes: 65527)", "send(bytes: 1)", "written"])
        var head = ByteBuffer()
        head.writeDataHead(65_527)
        #expect(head.readableBytes + 65_527 == 64 << 10)
    }

    @Test func `a write waits while the network accepts nothing, and later ones wait in order`() {
        #expect(
            Self.run([.blocked, .write(1, 5), .write(2, 6), .finish(3), .writable])
                == ["send(bytes: 5)", "written", "send(bytes: 6)", "written", "sendFin"]
        )
    }

    @Test func `a frame is no longer than the peer accepts`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), peerLimit: 1024, now: .at(0))
        #expect(machine.write(id: 1, bytes: 2000) == .wait)
        #expect(machine.nextStep(now: .at(0)) == .send(bytes: 1017))
        #expect(machine.nextStep(now: .at(0)) == .send(bytes: 983))
    }

    @Test func `nothing is written after the end, and the end may be requested twice`() {
        #expect(
            Self.run([.finish(1), .write(2, 5), .finish(3)]) == ["sendFin", "write: finished", "finish: finished"]
        )
    }

    @Test func `a cancelled write is dropped if nothing of it was sent`() {
        #expect(
            Self.run([.blocked, .write(1, 5), .write(2, 6), .cancelWrite(2), .cancelWrite(9), .writable])
                == ["cancel: forget", "cancel: nothing", "send(bytes: 5)", "written"]
        )
    }

    @Test func `a write that was sent in part cannot be taken back`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        _ = machine.write(id: 1, bytes: 100_000)
        #expect(machine.nextStep(now: .at(0)) == .send(bytes: 65_527))
        #expect(machine.cancelWrite(id: 1) == .abort)
    }

    @Test func `the end is sent whether or not it is awaited`() {
        #expect(
            Self.run([.blocked, .write(1, 5), .finish(2), .cancelWrite(2), .writable])
                == ["cancel: leave", "send(bytes: 5)", "written", "sendFin"]
        )
    }

    @Test func `each side confirms that it has everything, and the connection closes after both`() {
        #expect(Self.run([.fin, .finish(1), .close]) == ["sendFin", "sendClose", "finish"])
        #expect(Self.run([.finish(1), .fin, .close]) == ["sendFin", "sendClose", "finish"])
    }

    @Test func `a connection that ends before the end of the input truncates the stream`() {
        #expect(Self.run([.data, .connectionEnds, .write(1, 1)]) == ["truncated", "write: ended"])
        #expect(Self.run([.finish(1), .fin, .close, .connectionEnds]) == ["sendFin", "sendClose", "finish", "known"])
    }

    @Test func `a connection lost before the confirmation leaves the input complete and the output unknown`() {
        #expect(Self.run([.fin, .connectionEnds]) == ["unconfirmed"])
        #expect(Self.run([.fin, .finish(1), .connectionEnds]) == ["sendFin", "sendClose", "unconfirmed"])
    }

    @Test func `an abort drops unsent data on both sides`() {
        #expect(
            Self.run([.data, .blocked, .write(1, 5), .abort, .writable, .data, .abort])
                == ["abort: true", "drop", "abort: false"]
        )
        #expect(Self.run([.data, .peerAborts, .write(1, 1)]) == ["peer aborts: true", "write: ended"])
        #expect(Self.run([.abort, .peerAborts]) == ["abort: true", "peer aborts: false"])
        #expect(Self.run([.finish(1), .fin, .close, .abort]) == ["sendFin", "sendClose", "finish", "abort: false"])
    }

    @Test func `a side that aborts continues to read, so that its peer can read the reason`() {
        #expect(Self.run([.data, .networkRead(isFull: true), .abort]) == ["held", "abort: true", "readNetwork"])
    }

    @Test func `data after the end breaks the protocol`() {
        #expect(Self.run([.fin, .data]) == ["violation(\"bytes came behind the end of the stream\")"])
        #expect(Self.run([.fin, .fin]) == ["violation(\"the end of the stream came twice\")"])
        #expect(Self.run([.fin, .close]) == ["violation(\"the stream was closed before its end\")"])
        #expect(Self.run([.finish(1), .close]) == ["sendFin", "violation(\"the stream was closed before its end\")"])
    }

    // MARK: Time

    @Test func `a silent peer is probed twice and is then considered dead`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        #expect(machine.nextWakeUp == .at(5000))
        #expect(machine.tick(now: .at(5000)) == .ping(1))
        #expect(machine.tick(now: .at(10_000)) == .ping(2))
        machine.heardFromPeer(now: .at(11_000))
        #expect(machine.tick(now: .at(15_000)) == .nothing)
        #expect(machine.tick(now: .at(16_000)) == .ping(3))
        #expect(machine.tick(now: .at(21_000)) == .ping(4))
        #expect(machine.tick(now: .at(26_000)) == .silent)
    }

    @Test func `a side that does not read considers no peer dead, and sends keep-alives itself`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        #expect(machine.receivedData() == .accept)
        let wantsRead = machine.networkWantsRead(isFull: true)
        #expect(!wantsRead)
        var pings = 0
        for second in stride(from: Int64(5), through: 600, by: 5) {
            guard case .ping = machine.tick(now: .at(second * 1000)) else { continue }
            pings += 1
        }
        #expect(pings == 120)
        // Once it reads again, the timeout starts again.
        machine.inboxHasSpace()
        #expect(machine.nextStep(now: .at(600_500)) == .readNetwork)
        #expect(machine.nextWakeUp == .at(605_500))
        #expect(machine.tick(now: .at(615_500)) != .silent)
    }

    @Test func `a live peer that accepts no data is disconnected after the stall timeout`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        _ = machine.write(id: 1, bytes: 5)
        machine.writabilityChanged(false, now: .at(1000))
        for second in stride(from: Int64(4), through: 300, by: 4) {
            machine.heardFromPeer(now: .at(second * 1000))
            #expect(machine.tick(now: .at(second * 1000)) == .nothing)
        }
        #expect(machine.tick(now: .at(301_000)) == .stalled)
    }

    @Test func `a peer that accepts a little in time is not stalled`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        machine.writabilityChanged(false, now: .at(0))
        machine.heardFromPeer(now: .at(299_000))
        machine.writabilityChanged(true, now: .at(299_000))
        machine.writabilityChanged(false, now: .at(299_500))
        #expect(machine.tick(now: .at(301_000)) == .nothing)
    }

    @Test func `a peer that does not confirm the end is disconnected after the stall timeout`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        #expect(machine.receivedFin() == .accept)
        _ = machine.finish(id: 1)
        #expect(machine.nextStep(now: .at(0)) == .sendFin)
        #expect(machine.nextStep(now: .at(0)) == .sendClose)
        machine.heardFromPeer(now: .at(299_000))
        #expect(machine.tick(now: .at(299_000)) == .nothing)
        #expect(machine.tick(now: .at(300_000)) == .stalled)
    }

    @Test func `an abort waits five seconds for the peer to close`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        let isSent = machine.abort(now: .at(1000))
        #expect(isSent)
        #expect(machine.nextWakeUp == .at(6000))
        #expect(machine.tick(now: .at(5999)) == .nothing)
        #expect(machine.tick(now: .at(6000)) == .giveUp)
    }

    @Test func `a closing host lets a stream continue for a while`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0))
        machine.close(until: .at(3000))
        #expect(machine.nextWakeUp == .at(3000))
        #expect(machine.tick(now: .at(2999)) == .nothing)
        #expect(machine.tick(now: .at(3000)) == .closeNow)
    }

    @Test func `the stream ends when the peer's certificate expires`() {
        var machine = ByteStreamStateMachine(limits: StreamLimits(), now: .at(0), trustEnd: .at(4000))
        #expect(machine.nextWakeUp == .at(4000))
        #expect(machine.tick(now: .at(4000)) == .trustEnded)
    }
}
