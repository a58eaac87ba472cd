// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Which ticket opens which stream, for which system, and until when.
@Suite struct StreamTicketsStateMachineTests {
    private static let peer = SystemID(of: P256.Signing.PrivateKey().publicKey)
    private static let other = SystemID(of: P256.Signing.PrivateKey().publicKey)

    private static func digest(_ number: UInt8) throws -> StreamTicketsStateMachine.Digest {
        .init(try #require(StreamTicket(bytes: [UInt8](repeating: number, count: 16))))
    }

    @Test func `a ticket opens its stream once, for its system and its purpose, within 30 seconds`() throws {
        var machine = StreamTicketsStateMachine()
        let ticket = try Self.digest(1)
        #expect(
            machine.offer(ticket, to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(0))
                == .offered(id: 1, until: .at(30_000))
        )
        #expect(machine.claim(try Self.digest(2), by: Self.peer, purpose: "p", now: .at(0)) == nil)
        #expect(machine.claim(ticket, by: Self.other, purpose: "p", now: .at(0)) == nil)
        #expect(machine.claim(ticket, by: Self.peer, purpose: "q", now: .at(0)) == nil)
        // Claims by other systems do not use it up.
        #expect(machine.claim(ticket, by: Self.peer, purpose: "p", now: .at(29_999)) == 1)
        #expect(machine.claim(ticket, by: Self.peer, purpose: "p", now: .at(29_999)) == nil)
        #expect(machine.count == 0)
    }

    @Test func `an expired ticket opens nothing, and takes no place`() throws {
        var machine = StreamTicketsStateMachine(limit: 1, limitPerHolder: 1)
        let ticket = try Self.digest(1)
        _ = machine.offer(ticket, to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(0))
        #expect(machine.claim(ticket, by: Self.peer, purpose: "p", now: .at(30_000)) == nil)
        #expect(
            machine.offer(try Self.digest(2), to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(29_999))
                == .full
        )
        #expect(
            machine.offer(try Self.digest(2), to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(30_000))
                == .offered(id: 2, until: .at(60_000))
        )
        #expect(machine.expire(now: .at(60_000)) == [2])
        #expect(machine.count == 0)
    }

    @Test func `one system cannot take all places`() throws {
        var machine = StreamTicketsStateMachine(limit: 4, limitPerHolder: 2)
        for number in UInt8(1)...2 {
            _ = machine.offer(try Self.digest(number), to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(0))
        }
        #expect(
            machine.offer(try Self.digest(3), to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(0))
                == .fullForHolder
        )
        #expect(
            machine.offer(try Self.digest(4), to: Self.other, of: .system(Self.other), purpose: "p", now: .at(0))
                == .offered(id: 3, until: .at(30_000))
        )
        machine.withdraw(id: 1)
        #expect(
            machine.offer(try Self.digest(5), to: Self.peer, of: .system(Self.peer), purpose: "p", now: .at(0))
                == .offered(id: 4, until: .at(30_000))
        )
    }

    @Test func `the systems of a linked account share its places, and each opens only its own streams`() throws {
        var machine = StreamTicketsStateMachine(limit: 4, limitPerHolder: 2)
        let account = try GreedyPeers.account(1)
        let (first, second) = (try Self.digest(1), try Self.digest(2))
        let expiry = NIODeadline.at(30_000)
        #expect(
            machine.offer(first, to: Self.peer, of: account, purpose: "p", now: .at(0))
                == .offered(id: 1, until: expiry)
        )
        #expect(
            machine.offer(second, to: Self.other, of: account, purpose: "p", now: .at(0))
                == .offered(id: 2, until: expiry)
        )
        let third = try Self.digest(3)
        #expect(machine.offer(third, to: Self.other, of: account, purpose: "p", now: .at(0)) == .fullForHolder)
        #expect(machine.claim(first, by: Self.other, purpose: "p", now: .at(0)) == nil)
        #expect(machine.claim(first, by: Self.peer, purpose: "p", now: .at(0)) == 1)
        #expect(
            machine.offer(third, to: Self.other, of: account, purpose: "p", now: .at(0))
                == .offered(id: 3, until: expiry)
        )
    }

    @Test func `a ticket is 128 random bits, travels as a UUID, and appears in no description`() throws {
        let ticket = StreamTicket.random()
        #expect(ticket.bytes.count == 16)
        #expect(ticket != StreamTicket.random())
        #expect(StreamTicket(ticket.value) == ticket)
        #expect(StreamTicket(Value.string("no ticket")) == nil)
        #expect(StreamTicket(nil) == nil)
        let hello = Hello(
            service: StreamClaim.service,
            targetApplication: nil,
            application: "a",
            limits: StreamLimits.peerLimits,
            stream: StreamClaim(ticket: ticket, purpose: "p")
        )
        var dumped = ""
        dump(hello, to: &dumped)
        let hex = ticket.bytes.map { String($0, radix: 16) }.joined()
        for text in ["\(hello)", String(reflecting: hello), dumped] {
            #expect(!text.contains("\(ticket.bytes)") && !text.contains(hex))
            #expect(!text.contains("\(ticket.bytes[0]), \(ticket.bytes[1]), \(ticket.bytes[2])"))
        }
        #expect(try Hello(hello.valueSet) == hello)
    }

    @Test(
        arguments: [
            7, ["ticket": .data(Data([1, 2, 3])), "purpose": "p"], ["purpose": "p"],
            ["ticket": .data(Data(repeating: 1, count: 16))],
            ["ticket": .data(Data(repeating: 1, count: 16)), "purpose": ""],
            ["ticket": .data(Data(repeating: 1, count: 17)), "purpose": "p"],
        ] as [Value]
    )
    func `a claim of another form makes the hello malformed`(claim: Value) throws {
        var map = Hello(
            service: StreamClaim.service,
            targetApplication: nil,
            application: "a",
            limits: StreamLimits.peerLimits
        ).valueSet
        map["stream"] = claim
        #expect(throws: ValueSetError.self) { try Hello(map) }
        // For another service the key has no meaning.
        map["service"] = "com.example.other"
        #expect(try Hello(map).stream == nil)
    }
}
