// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing

/// Two machines that pair over a real loopback connection, through the public API.
@Suite(.timeLimit(.minutes(1))) struct PairingTests {
    /// What one machine did.
    private typealias Ended = Result<PairingResult, any Error>

    /// The prompts of one machine.
    private final class Prompts: Sendable {
        let shown = Mutex<[PairingPrompt]>([])
        func add(_ prompt: PairingPrompt) { self.shown.withLock { $0.append(prompt) } }
        var all: [PairingPrompt] { self.shown.withLock { $0 } }
    }

    /// The attempts that failed on the waiting machine.
    private final class Failures: Sendable {
        let all = Mutex<[RemoteSystemError]>([])
    }

    /// Lets the second machine connect to the first one, which waits.
    private static func pair(
        _ machines: TwoMachines,
        waiting: PairingPurpose = .join,
        connecting: PairingPurpose = .join,
        prompts: Prompts = Prompts(),
        waitingAnswer: Bool = true,
        connectingAnswer: Bool = true,
        failures: Failures? = nil,
        waitingEndsToo: Bool = false,
        isFound: Bool = false,
        whenConnectingIsAsked: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> (waiting: Ended, connecting: Ended) {
        let (places, ready) = AsyncStream<PairingPlace>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let first = machines.account("first")
        let task = Task {
            defer { ready.finish() }
            return try await first.waitForPairing(waiting, name: "First") { place in
                ready.yield(place)
            } attemptFailed: { error in
                failures?.all.withLock { $0.append(error) }
            } confirm: { prompt in
                prompts.add(prompt)
                return waitingAnswer
            }
        }
        var iterator = places.makeAsyncIterator()
        guard let place = await iterator.next() else { return (await task.result, .failure(CancellationError())) }
        let second = machines.account("second")
        let confirm: @Sendable (PairingPrompt) async throws -> Bool = { prompt in
            prompts.add(prompt)
            try await whenConnectingIsAsked()
            return connectingAnswer
        }
        let ended: Ended
        do {
            ended = .success(
                isFound
                    ? try await second.pair(connecting, at: place, name: "Second", confirm: confirm)
                    : try await second.pair(
                        connecting,
                        host: "127.0.0.1",
                        port: place.port,
                        name: "Second",
                        confirm: confirm
                    )
            )
        } catch {
            ended = .failure(error)
        }
        // Without success the waiting machine waits on.
        if (try? ended.get()) == nil {
            // The report follows the end of the connection, which the connecting machine sees first.
            while let failures, failures.all.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(10)) }
            if !waitingEndsToo { task.cancel() }
        }
        return (await task.result, ended)
    }

    private static func code(_ result: Ended) -> IdentityError.Code? {
        guard case .failure(let error) = result else { return nil }
        return ((error as? RemoteSystemError)?.cause as? IdentityError)?.code
    }

    @Test func `of two new machines, the one that connects joins the account of the one that waits`() async throws {
        try await TwoMachines.with { machines in
            let prompts = Prompts()
            let (waiting, connecting) = try await Self.pair(machines, prompts: prompts)
            guard case .joined(let change) = try connecting.get(), case .admitted(let system) = try waiting.get() else {
                Issue.record("\(waiting), \(connecting)")
                return
            }
            #expect(change.identity.systemID == system)
            #expect(change.identity.accountID == (try machines.account("first").identity().accountID))
            #expect(try machines.account("second").identity().systemID == system)
            #expect(try machines.account("first").systemsThatJoined() == [system])
            #expect(Set(prompts.all.map(\.digits)).count == 1 && prompts.all.count == 2)
            #expect(Set(prompts.all.map(\.name)) == ["First", "Second"])
            #expect(Set(prompts.all.map(\.effect)) == [.admitsOther, .joinsOther])
        }
    }

    @Test func `a machine with the root key of a shared account admits, even if it connects`() async throws {
        try await TwoMachines.with { machines in
            // "second" has admitted "third" before.
            let outcome = try await machines.whileInviting("second") { invitation, _ in
                _ = try await machines.account("third").join(invitation)
            }
            _ = try outcome.get()
            let (waiting, connecting) = try await Self.pair(machines)
            guard case .admitted = try connecting.get(), case .joined(let change) = try waiting.get() else {
                Issue.record("\(waiting), \(connecting)")
                return
            }
            #expect(change.identity.accountID == (try machines.account("second").identity().accountID))
        }
    }

    @Test(arguments: [(false, true), (true, false)])
    func `without both confirmations nothing is changed`(waitingAnswer: Bool, connectingAnswer: Bool) async throws {
        try await TwoMachines.with { machines in
            let before = try machines.account("second").identity()
            let (waiting, connecting) = try await Self.pair(
                machines,
                waitingAnswer: waitingAnswer,
                connectingAnswer: connectingAnswer
            )
            #expect(Self.code(connecting) == (connectingAnswer ? .pairingRefused : .pairingDenied))
            #expect((try? waiting.get()) == nil)
            #expect(try machines.account("second").identity().systemID == before.systemID)
            #expect(try machines.account("first").systemsThatJoined().isEmpty)
        }
    }

    @Test func `a program that fails to ask has not denied anything, and does not lock pairing`() async throws {
        struct NoTerminal: Error {}
        try await TwoMachines.with { machines in
            for _ in 1...4 {
                let failures = Failures()
                let (_, connecting) = try await Self.pair(machines, failures: failures) { throw NoTerminal() }
                #expect(throws: NoTerminal.self) { try connecting.get() }
                let seen = try #require(failures.all.withLock { $0.first })
                #expect((seen.cause as? IdentityError)?.code == .pairingFailed && seen.side == .remote)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a link that the other machine cannot store is not kept here`(isStoredHere: Bool) async throws {
        try await TwoMachines.with { machines in
            let second = try machines.account("second").directory
            // The first file is read when that machine stores the link, the second one before it sends its offer.
            let file = isStoredHere ? "held-links.pem" : "learned-links.pem"
            let (waiting, connecting) = try await Self.pair(
                machines,
                waiting: .link(grants: Grants(services: ["test.volume"])),
                connecting: .link(grants: Grants(services: ["test.volume"])),
                waitingEndsToo: true
            ) {
                // Read only after both persons have confirmed.
                try FileManager.default.createDirectory(
                    atPath: "\(second)/account/\(file)",
                    withIntermediateDirectories: false
                )
            }
            #expect((try? connecting.get()) == nil)
            #expect(Self.code(waiting) == .pairingFailed, "\(waiting)")
            let links = try machines.account("first").links()
            let states: [AccountLink.State] = isStoredHere ? [.withdrawn] : []
            #expect(links.map(\.state) == states, "\(links)")
            guard case .failure(let error as RemoteSystemError) = waiting else { return }
            #expect(error.side == .remote && error.message.contains("has withdrawn the link") == isStoredHere)
            #expect(error.message.contains("Nothing was changed here") == !isStoredHere, "\(error.message)")
        }
    }

    @Test func `a program pairs once at a time, and again afterwards`() async throws {
        try await TwoMachines.with { machines in
            let same = machines.account("second")
            let errors = Mutex<[RemoteSystemError?]>([])
            let (_, connecting) = try await Self.pair(machines, connectingAnswer: false) {
                // The same program as the one that shows the digits.
                let error = await #expect(throws: RemoteSystemError.self) {
                    _ = try await same.pair(host: "127.0.0.1", port: 9) { _ in true }
                }
                errors.withLock { $0.append(error) }
            }
            #expect(Self.code(connecting) == .pairingDenied)
            #expect(errors.withLock { $0.map(\.?.code) } == [.misuse])
            let (_, again) = try await Self.pair(machines)
            _ = try again.get()
        }
    }

    @Test func `three refusals on this machine lock connecting, and those of the other one do not`() async throws {
        try await TwoMachines.with { machines in
            for _ in 1...4 {
                let (_, connecting) = try await Self.pair(machines, waitingAnswer: false)
                #expect(Self.code(connecting) == .pairingRefused)
            }
            for _ in 1...3 {
                let (_, connecting) = try await Self.pair(machines, connectingAnswer: false)
                #expect(Self.code(connecting) == .pairingDenied)
            }
            let (_, connecting) = try await Self.pair(machines)
            #expect(Self.code(connecting) == .pairingLocked)
            // The machine that waited is not locked.
            try AccountStore(directory: "\(machines.directory)/first").checkPairing(now: Date())
        }
    }

    @Test func `a stranger that announces itself cannot lock pairing`() async throws {
        try await TwoMachines.with { machines in
            for _ in 1...4 {
                let (_, connecting) = try await Self.pair(machines, connectingAnswer: false, isFound: true)
                #expect(Self.code(connecting) == .pairingDenied)
            }
            // A lock that this user's own attempts have caused counts for machines that were found, too.
            for _ in 1...3 { _ = try await Self.pair(machines, connectingAnswer: false) }
            let (_, connecting) = try await Self.pair(machines, isFound: true)
            #expect(Self.code(connecting) == .pairingLocked)
        }
    }

    @Test func `two accounts are linked, each with what the other one grants`() async throws {
        try await TwoMachines.with { machines in
            let (waiting, connecting) = try await Self.pair(
                machines,
                waiting: .link(grants: Grants(services: ["test.volume"])),
                connecting: .link(grants: Grants(uriSchemes: ["https"]))
            )
            guard case .linked(let first) = try waiting.get(), case .linked(let second) = try connecting.get() else {
                Issue.record("\(waiting), \(connecting)")
                return
            }
            #expect(first.granted.services == ["test.volume"] && first.received.uriSchemes == ["https"])
            #expect(second.granted.uriSchemes == ["https"] && second.received.services == ["test.volume"])
            #expect(first.name == "Second" && second.name == "First")
            #expect(first.account == (try machines.account("second").identity().accountID))
            #expect(try machines.account("first").links().map(\.account) == [first.account])
            #expect(try machines.account("second").links().map(\.account) == [second.account])
            #expect(first.account != second.account)
        }
    }

    @Test func `an offer of an account whose root key the other machine does not hold links nothing`() async throws {
        try await TwoMachines.with { machines in
            let (places, ready) = AsyncStream<PairingPlace>.makeStream(bufferingPolicy: .bufferingOldest(1))
            let first = machines.account("first")
            let waiting = Task {
                defer { ready.finish() }
                return try await first.waitForPairing(.link(grants: Grants(services: ["test.volume"]))) { place in
                    ready.yield(place)
                } confirm: { _ in
                    true
                }
            }
            var iterator = places.makeAsyncIterator()
            let place = try #require(await iterator.next())
            // The other machine's person is honest. Its program claims to be a third account, whose chain it knows.
            let third = AccountStore(directory: "\(machines.directory)/third")
            let own = AccountStore(directory: "\(machines.directory)/second")
            _ = (try third.identity(), try own.identity())
            let steps = PairingSteps<PairingPlan> { _ in
                true
            } carryOut: { plan, exchange in
                let bytes = try third.linkOffer(name: "Third", granting: Grants(), now: Date()).encoded()
                let signature = try own.authority().signature(of: bytes, in: exchange.binding)
                try await exchange.send(.offer(bytes, signature: signature))
                while true { _ = try await exchange.next() }
            }
            await #expect(throws: (any Error).self) {
                try await PairingCall.pair(
                    host: "127.0.0.1",
                    port: place.port,
                    intention: try PairingIntention(.link, name: "Second"),
                    network: .sockets,
                    steps: steps
                )
            }
            let ended = await waiting.result
            #expect(throws: RemoteSystemError.self) { try ended.get() }
            #expect("\(ended)".contains("was not signed by the key of its account"), "\(ended)")
            #expect(try first.links().isEmpty)
        }
    }

    @Test func `an account with the maximum number of links is refused another one before the digits`() async throws {
        try await TwoMachines.with { machines in
            let store = AccountStore(directory: "\(machines.directory)/second")
            _ = try store.identity()
            for number in 1...LinkList.maxLinks {
                let other = AccountStore(directory: "\(machines.directory)/other-\(number)")
                _ = try other.identity()
                let theirs = try other.linkOffer(name: "Other \(number)", granting: Grants(), now: Date())
                try store.link(
                    try store.linkOffer(name: "Second", granting: Grants(), now: Date()),
                    with: theirs,
                    now: Date()
                )
            }
            let code = await identityCode {
                _ = try await machines.account("second").pair(
                    .link(grants: Grants()),
                    host: "127.0.0.1",
                    port: 9
                ) { _ in true }
            }
            #expect(code == .tooManyLinks)
            // A withdrawn link makes room.
            try store.unlink(try #require(store.links().links.first?.account), now: Date())
            _ = try store.linkOffer(name: "Second", granting: Grants(), now: Date())
        }
    }

    @Test func `a link and a join are refused without digits`() async throws {
        try await TwoMachines.with { machines in
            let prompts = Prompts()
            let (_, connecting) = try await Self.pair(
                machines,
                waiting: .link(grants: Grants()),
                connecting: .join,
                prompts: prompts
            )
            #expect(Self.code(connecting) == .pairingMismatch && prompts.all.isEmpty)
            // Not to join accounts instead, which would give the other person all rights.
            guard case .failure(let error as RemoteSystemError) = connecting else { return }
            #expect(error.message.contains("use '--link' on both machines") && !error.message.contains("omit"))
        }
    }

    @Test func `machines of one account have nothing to pair, which both report before the digits`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            // More often than the lock allows failed comparisons.
            for _ in 1...4 {
                let (prompts, failures) = (Prompts(), Failures())
                let (waiting, connecting) = try await Self.pair(
                    machines,
                    connecting: .join(leavingAccount: true),
                    prompts: prompts,
                    failures: failures
                )
                #expect(Self.code(connecting) == .accountInUse && prompts.all.isEmpty)
                let reported = try #require(failures.all.withLock { $0.first })
                let account = try machines.account("first").identity().accountID
                #expect((reported.cause as? IdentityError)?.code == .accountInUse)
                #expect(reported.message.contains("account \(account.short) already"))
                // It waited on.
                #expect(throws: CancellationError.self) { try waiting.get() }
            }
        }
    }

    @Test func `a machine that does not hold its root key cannot link its account`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let error = await identityCode {
                _ = try await machines.account("second").pair(
                    .link(grants: Grants()),
                    host: "127.0.0.1",
                    port: 9
                ) { _ in true }
            }
            #expect(error == .notAuthority)
        }
    }

    @Test func `a machine that can neither admit nor join fails before it waits or connects`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let waiting = await identityCode {
                _ = try await machines.account("second").waitForPairing { _ in
                    Issue.record("it waits")
                } confirm: { _ in
                    true
                }
            }
            let connecting = await identityCode {
                _ = try await machines.account("second").pair(host: "127.0.0.1", port: 9) { _ in true }
            }
            #expect(waiting == .notAuthority && connecting == .notAuthority)
        }
    }

    @Test func `a machine that cannot store a pairing fails before it looks for another one`() async throws {
        try await TwoMachines.with { machines in
            let account = machines.account("first")
            _ = try account.identity()
            try machines.makeUnwritable("first")
            for purpose in [.join, .join(leavingAccount: true), .link(grants: Grants())] as [PairingPurpose] {
                let code = await identityCode { try await account.checkPairing(purpose, name: nil) }
                #expect(code == .notAPlainFile)
            }
        }
    }

    @Test func `where no machine waits, the error says so`() async throws {
        try await TwoMachines.with { machines in
            await #expect {
                _ = try await machines.account("second").pair(host: "127.0.0.1", port: 9) { _ in true }
            } throws: {
                ($0 as? RemoteSystemError)?.code == .unreachable && ($0 as? RemoteSystemError)?.canRetry == true
            }
        }
    }
}
