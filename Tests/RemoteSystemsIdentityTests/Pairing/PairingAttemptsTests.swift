// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsIdentity

/// The lock after failed comparisons.
@Suite struct PairingAttemptsTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func `three failures within an hour lock pairing for an hour`() {
        var attempts = PairingAttempts()
        for minute in [0.0, 20, 40] {
            #expect(attempts.locked(at: Self.now + minute * 60) == nil)
            attempts.fail(at: Self.now + minute * 60)
        }
        for minute in [41.0, 61, 99] {
            #expect(attempts.locked(at: Self.now + minute * 60) == Self.now + 100 * 60)
        }
        #expect(attempts.locked(at: Self.now + 100 * 60) == nil)
        #expect(PairingAttempts(text: attempts.text) == attempts)
    }

    @Test func `failures that are an hour apart lock nothing`() {
        var attempts = PairingAttempts()
        for hour in 0..<8 { attempts.fail(at: Self.now + Double(hour) * 3600) }
        #expect(attempts.locked(at: Self.now + 7 * 3600) == nil)
    }

    @Test func `a clock that was set back does not lock for longer than an hour`() throws {
        var attempts = PairingAttempts()
        for _ in 1...3 { attempts.fail(at: Self.now) }
        let end = try #require(attempts.locked(at: Self.now - 1800))
        #expect(end <= Self.now + 1800)
        #expect(attempts.locked(at: Self.now - 86_400) == nil)
    }

    @Test func `a damaged file locks nothing`() {
        #expect(PairingAttempts(text: "x\n-1\n99999999999999999999\n").locked(at: Self.now) == nil)
    }

    @Test func `the lock is stored, and ends with a success`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "attempts-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = AccountStore(directory: directory)
        try store.checkPairing(now: Self.now)
        for _ in 1...3 { try AccountStore(directory: directory).recordPairingFailure(now: Self.now) }
        #expect(throws: IdentityError.self) { try store.checkPairing(now: Self.now) }
        try store.checkPairing(now: Self.now + 3601)
        try store.forgetPairingFailures()
        try store.checkPairing(now: Self.now)
    }
}
