// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import RemoteSystemsIdentity

/// Tests that need several processes or a file system of their own. Each test's child processes end by themselves.
@Suite struct AccountStoreProcessTests {
    @Test func `sixteen threads that start at once agree on one identity`() async throws {
        let temporary = try TemporaryDirectory()
        let ids = try await withThrowingTaskGroup(of: SystemID.self) { group in
            for _ in 0..<16 {
                group.addTask { @concurrent in try temporary.store.identity(now: noon).systemID }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test func `eight processes that start at once agree on one identity`() async throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.path
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        // Waits for the other processes, so that all find no account and start at the same moment.
                        try write("", to: "\(path)/ready-\(getpid())")
                        for _ in 0..<1000 where try ready(path) < 8 { usleep(10_000) }
                        let identity = try AccountStore(directory: path + "/state").identity(now: noon)
                        try write("\(identity.systemID)", to: "\(path)/id-\(getpid())")
                    }
                }
            }
        }
        let ids = try temporary.contents().filter { $0.hasPrefix("id-") }
        #expect(ids.count == 8)
        #expect(Set(try ids.map { try String(contentsOfFile: path + "/" + $0, encoding: .utf8) }).count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/state").sorted() == ["account", "lock"])
    }

    @Test func `a lock that is never released is an error, not a hang`() throws {
        let temporary = try TemporaryDirectory()
        let holder = try SecretDirectory.make(path: temporary.path + "/state")
        try holder.withLock { () throws(IdentityError) in
            let other = try SecretDirectory.make(path: temporary.path + "/state")
            #expect(code { () throws(IdentityError) in try other.withLock(waiting: .milliseconds(20)) { 1 } } == .busy)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `a full disk leaves no partial file and is reported`() throws {
        let temporary = try TemporaryDirectory()
        var failures = 0
        // One page more in each round: the disk gets full at every step of creating an account, until the account fits.
        for pages in 1...64 {
            try mountMemory(at: temporary.path, pages: pages)
            defer { unmount(temporary.path) }
            do throws(IdentityError) {
                _ = try temporary.store.identity(now: noon)
                break
            } catch {
                failures += 1
                #expect(error.code == .diskFull && !error.message.contains(".new-"), "\(error.message)")
            }
            let left = try temporary.contents()
            #expect([["state", "state/lock"], ["state"], []].contains(left), "\(pages) pages")
        }
        #expect((1..<64).contains(failures))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `an error about a full disk names the file that was to be replaced`() throws {
        let temporary = try TemporaryDirectory()
        try mountMemory(at: temporary.path, pages: 64)
        defer { unmount(temporary.path) }
        _ = try temporary.store.identity(now: noon)
        let error = #expect(throws: IdentityError.self) {
            try temporary.store.update(.namedSystems) { _ in [UInt8](repeating: 0, count: 1 << 20) }
        }
        #expect(error?.code == .diskFull)
        let file = "\(temporary.path)/state/account/named-systems.json"
        #expect(error?.message.hasPrefix("\(file) cannot be written: ") == true, "\(error?.message ?? "")")
        #expect(error?.path == file)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `an account that does not fit on the disk is not joined`() throws {
        let elsewhere = try TemporaryDirectory()
        let joined = try elsewhere.store.identity(now: noon)
        let temporary = try TemporaryDirectory()
        var failures = 0
        for pages in 1...64 {
            try mountMemory(at: temporary.path, pages: pages)
            defer { unmount(temporary.path) }
            let refusal = code { () throws(IdentityError) in
                try temporary.store.checkAdoption(of: joined.accountID, evenIfShared: false, now: noon)
            }
            if let refusal {
                failures += 1
                #expect(refusal == .diskFull)
                continue
            }
            #expect(try temporary.contents() == ["state", "state/lock"], "\(pages) pages")
            let change = try temporary.store.adopt(joined, now: noon)
            #expect(change.identity.accountID == joined.accountID, "\(pages) pages")
        }
        #expect((1..<64).contains(failures))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `an account is joined again only if what is carried over fits on the disk, too`() throws {
        let elsewhere = try TemporaryDirectory()
        _ = try elsewhere.store.identity(now: noon)
        let joined = try SystemIdentity.member(of: elsewhere.store.authority())
        let temporary = try TemporaryDirectory()
        let store = temporary.store
        var failures = 0
        for pages in 1...64 {
            try mountMemory(at: temporary.path, pages: pages)
            defer { unmount(temporary.path) }
            let cause = code { () throws(IdentityError) in
                _ = try store.adopt(joined, now: noon)
                for file in [StateFile.namedSystems, .knownEndpoints] {
                    try store.update(file) { _ in [UInt8](repeating: 0, count: 5000) }
                }
            }
            if cause != nil { continue }
            let refusal = code { () throws(IdentityError) in
                try store.checkAdoption(of: joined.accountID, evenIfShared: false, evenIfMember: true, now: noon)
            }
            if let refusal {
                failures += 1
                #expect(refusal == .diskFull)
                continue
            }
            let change = try store.adopt(joined, now: noon)
            #expect(change.identity.systemID == joined.systemID, "\(pages) pages")
        }
        #expect((1..<64).contains(failures))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `on a full or read-only disk no system is invited`() throws {
        try Self.checksSpace { store throws(IdentityError) in try store.checkAdmission() }
    }

    @Test(
        .enabled(if: geteuid() == 0, "needs root, to mount small file systems"),
        arguments: [
            .ownAccount(admits: true, joins: false), .ownAccount(admits: false, joins: true), .link,
        ] as [PairingIntention.Purpose]
    )
    func `on a full or read-only disk no pairing begins`(purpose: PairingIntention.Purpose) throws {
        try Self.checksSpace { store throws(IdentityError) in try store.checkSpace(for: purpose) }
    }

    /// Expects that a check of an account on a small disk changes nothing, and fails on a full and a read-only disk.
    private static func checksSpace(_ check: (AccountStore) throws(IdentityError) -> Void) throws {
        let temporary = try TemporaryDirectory()
        try mountMemory(at: temporary.path, pages: 64)
        defer { unmount(temporary.path) }
        let store = temporary.store
        _ = try store.identity(now: noon)
        let before = try temporary.contents()
        try check(store)
        #expect(try temporary.contents() == before)
        let filler = temporary.path + "/filler"
        try? write(String(repeating: "x", count: 64 * 4096), to: filler)
        #expect(code { () throws(IdentityError) in try check(store) } == .diskFull)
        try remove(filler)
        try mountMemory(at: temporary.path, readOnlyAgain: true)
        #expect(code { () throws(IdentityError) in try check(store) } == .notAllowed)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `a read-only disk is an error only without a valid certificate`() throws {
        let temporary = try TemporaryDirectory()
        try mountMemory(at: temporary.path, pages: 256)
        defer { unmount(temporary.path) }
        let store = temporary.store
        let identity = try store.identity(now: noon)
        try mountMemory(at: temporary.path, readOnlyAgain: true)
        // Renewal is due and cannot be written, but the old certificate is valid for another month.
        #expect(try store.identity(now: noon.addingTimeInterval(61 * day)).certificate == identity.certificate)
        let late = noon.addingTimeInterval(91 * day)
        #expect(code { () throws(IdentityError) in try store.identity(now: late) } == .notAllowed)
        let other = AccountStore(directory: temporary.path + "/other")
        #expect(code { () throws(IdentityError) in try other.identity(now: noon) } == .notAllowed)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to mount small file systems"))
    func `a recovery file is made of an account on a read-only disk, and a change names the disk`() throws {
        let (temporary, elsewhere) = (try TemporaryDirectory(), try TemporaryDirectory())
        try mountMemory(at: temporary.path, pages: 256)
        defer { unmount(temporary.path) }
        let identity = try temporary.store.identity(now: noon)
        try mountMemory(at: temporary.path, readOnlyAgain: true)
        let (path, passphrase) = (elsewhere.path + "/recovery.txt", Array("correct horse".utf8))
        let factors = RecoveryFile.WorkFactors(logN: 10, r: 8, p: 1)
        try temporary.store.checkExport(to: path)
        try temporary.store.exportRecovery(to: path, passphrase: passphrase, factors: factors)
        let change = try elsewhere.store.importRecovery(from: path, passphrase: passphrase, now: noon)
        #expect(change.identity.accountID == identity.accountID)
        let error = #expect(throws: IdentityError.self) { try temporary.store.recordJoined(identity.systemID) }
        #expect(error?.code == .notAllowed && error?.message.contains("REMOTE_SYSTEMS_STATE") == false)
    }

    @Test func `a directory without write permission is an error that says so`() throws {
        // Under this path even root cannot create a directory.
        let store = AccountStore(directory: "/sys/remote-systems")
        #expect(code { () throws(IdentityError) in try store.identity(now: noon) } == .notAllowed)
    }
}

private func ready(_ path: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: path).count { $0.hasPrefix("ready-") }
}

private func mountMemory(at path: String, pages: Int = 0, readOnlyAgain: Bool = false) throws {
    let flags = readOnlyAgain ? UInt(MS_REMOUNT | MS_RDONLY) : 0
    let options = readOnlyAgain ? "" : "size=\(pages * 4096),mode=700"
    guard unsafe mount("tmpfs", path, "tmpfs", flags, options) == 0 else { throw SystemCallError("mount") }
}

private func unmount(_ path: String) {
    _ = unsafe umount2(path, Int32(MNT_DETACH))
}
