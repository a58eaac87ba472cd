// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import UserNotifications

@Suite struct AttachmentTableTests {
    private let now = ContinuousClock.now
    private var table = AttachmentTable()

    private static func digest(_ number: UInt8) -> AttachmentDigest {
        guard let digest = AttachmentDigest([UInt8](repeating: number, count: 32)) else {
            preconditionFailure("32 bytes are a digest")
        }
        return digest
    }

    private static func holder(_ name: String) -> AttachmentTable.Holder {
        let isLocal = name.hasPrefix("local")
        return AttachmentTable.Holder(NotificationSender(systemID: name, application: name, isLocal: isLocal))
    }

    private mutating func add(_ number: UInt8, bytes: Int64 = 1000, of holder: String = "a") throws {
        let upload = try #require(try self.table.begin(Self.digest(number), bytes, of: Self.holder(holder), self.now))
        self.table.finish(upload, .png, self.now)
    }

    private mutating func refusal(
        _ number: UInt8,
        bytes: Int64 = 1000,
        of holder: String = "a",
        finishes: Bool = false
    ) -> NotificationError? {
        do throws(NotificationError) {
            let upload = try self.table.begin(Self.digest(number), bytes, of: Self.holder(holder), self.now)
            if finishes, let upload { self.table.finish(upload, .png, self.now) }
            return nil
        } catch {
            return error
        }
    }

    @Test mutating func `a file that is here is not received again`() throws {
        try self.add(1)
        let again = try self.table.begin(Self.digest(1), 1000, of: Self.holder("b"), self.now)
        #expect(again == nil)
        #expect(self.table.files.count == 1)
    }

    @Test func `the size is checked before anything is received (X-50)`() throws {
        let digest = Value.data(Data(Self.digest(1).bytes))
        let whole = FieldReader(["Digest": digest, "Size": .integer(NotificationAttachmentType.maxBytes)])
        #expect(try whole.attachmentFile().byteCount == NotificationAttachmentType.maxBytes)
        for bytes in [0, -1, NotificationAttachmentType.maxBytes + 1] {
            do throws(NotificationError) {
                _ = try FieldReader(["Digest": digest, "Size": .integer(bytes)]).attachmentFile()
                Issue.record("It was accepted: \(bytes)")
            } catch {
                #expect(error.code == .attachmentInvalid && error.field == "Size")
            }
        }
    }

    @Test mutating func `the space of one sender, and of all, is limited`() throws {
        try self.add(1, bytes: 50_000_000)
        try self.add(2, bytes: 50_000_000)
        let own = self.refusal(3, bytes: 50_000_000)
        #expect(own?.code == .limitExceeded)
        for number: UInt8 in 4..<16 { _ = self.refusal(number, bytes: 50_000_000, of: "\(number / 2)", finishes: true) }
        let all = self.refusal(20, bytes: 50_000_000, of: "new")
        #expect(all?.code == .limitExceeded)
        // Those that take as much as they may leave some for another one.
        try self.add(21, bytes: 20_000_000, of: "new")
        // Other systems take no space from the programs of this one.
        try self.add(22, bytes: 50_000_000, of: "local calendar")
    }

    @Test mutating func `the number of small files is limited, too`() throws {
        for number in 0..<AttachmentTable.maxFilesOfHolder {
            let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) }
            let digest = try #require(AttachmentDigest(bytes))
            let upload = try #require(try self.table.begin(digest, 1, of: Self.holder("a"), self.now))
            self.table.finish(upload, .png, self.now)
        }
        let more = self.refusal(255, bytes: 1)
        #expect(more?.code == .limitExceeded)
        let another = self.refusal(255, bytes: 1, of: "b")
        #expect(another == nil)
    }

    @Test mutating func `the files that arrive at a time are limited for a sender and in all, also their space`() throws
    {
        for number in 0..<UInt8(AttachmentTable.maxUploadsOfHolder) {
            let refusal = self.refusal(number)
            #expect(refusal == nil)
        }
        let own = self.refusal(100)
        #expect(own?.code == .rateLimited && own?.message.hasPrefix("4 attachments of this sender") == true)
        for upload in self.table.uploads.values where upload.holder == Self.holder("a") { self.table.fail(upload) }
        let answer2 = self.refusal(102)
        #expect(answer2 == nil)
        var other = AttachmentTable()
        _ = try other.begin(Self.digest(1), 50_000_000, of: Self.holder("a"), self.now)
        _ = try other.begin(Self.digest(2), 50_000_000, of: Self.holder("a"), self.now)
        self.table = other
        let refusal5 = self.refusal(3, bytes: 50_000_000)
        #expect(refusal5?.code == .limitExceeded)
    }

    @Test mutating func `several senders together leave each further one the places of an equal part`() throws {
        // They take all places, and open none of the streams.
        for number: UInt8 in 0..<24 { _ = self.refusal(number, of: "\(number % 6)") }
        #expect(self.table.uploads.count == AttachmentTable.maxUploads)
        for number: UInt8 in 100..<102 {
            let answer = self.refusal(number, of: "new")
            #expect(answer == nil && self.table.uploads.count == AttachmentTable.maxUploads)
        }
        // Taking more would leave another one fewer than that.
        let more = self.refusal(102, of: "new")
        #expect(more?.code == .rateLimited && more?.message.contains("the maximum, 2 of them of this sender") == true)
        for number: UInt8 in 30..<60 { _ = self.refusal(number, of: "\(number % 6)") }
        let parts = Dictionary(grouping: self.table.uploads.values, by: \.holder).mapValues(\.count)
        #expect(parts.count == 7 && parts.values.allSatisfy { 2...3 ~= $0 }, "\(parts)")
        // Programs of this system have places of their own.
        let local = self.refusal(103, of: "local calendar")
        #expect(local == nil)
    }

    @Test mutating func `a file stays while a notification has it, and ten minutes for one that comes`() throws {
        try self.add(1)
        try self.add(2)
        #expect(self.table.nextExpiration == self.now + AttachmentTable.waitingTime)
        let later = self.now + AttachmentTable.waitingTime
        let over6 = self.table.keep([Self.digest(1): [Self.holder("a")]], later - .seconds(1))
        #expect(over6.isEmpty)
        let over7 = self.table.keep([Self.digest(1): [Self.holder("a")]], later)
        #expect(Array(over7.keys) == [Self.digest(2)])
        #expect(self.table.nextExpiration == nil && self.table.files.count == 1)
        // Another sender is about to use it.
        let announced = try self.table.begin(Self.digest(1), 1000, of: Self.holder("b"), later)
        #expect(announced == nil)
        let over8 = self.table.keep([:], later + AttachmentTable.waitingTime - .seconds(1))
        #expect(over8.isEmpty)
        let over9 = self.table.keep([:], later + AttachmentTable.waitingTime + AttachmentTable.graceTime)
        #expect(over9.count == 1)
        #expect(self.table.isEmpty && self.table.nextExpiration == nil)
    }

    @Test mutating func `after a start, the notifications say who pays for a file`() throws {
        let file = AttachmentDirectory.File(
            digest: Self.digest(1),
            type: .mp4,
            byteCount: 50_000_000,
            hasThumbnail: false
        )
        self.table.restore(file, self.now)
        let over10 = self.table.keep([Self.digest(1): [Self.holder("a")]], self.now)
        #expect(over10.isEmpty)
        try self.add(2, bytes: 50_000_000)
        let refusal11 = self.refusal(3, bytes: 50_000_000)
        #expect(refusal11?.code == .limitExceeded)
        let refusal12 = self.refusal(3, bytes: 50_000_000, of: "b")
        #expect(refusal12 == nil)
        // B has the same file, and pays for it when A does not need it any more.
        let moved = self.table.keep([Self.digest(1): [Self.holder("b")]], self.now)
        #expect(moved.isEmpty && self.table.files[Self.digest(1)]?.holder == Self.holder("b"))
        // What no notification has is removed, but not at once: its notification may come back.
        var lost = AttachmentTable()
        lost.restore(file, self.now)
        let kept = lost.keep([:], self.now)
        let removed = lost.keep([:], self.now + AttachmentTable.graceTime)
        #expect(kept.isEmpty && removed.count == 1)
    }

    @Test mutating func `the small image of a file counts as its space, unless it is a second name of the file`() throws
    {
        for number: UInt8 in 0..<8 {
            let upload = try #require(
                try self.table.begin(Self.digest(number), 10_000_000, of: Self.holder("a"), self.now)
            )
            self.table.finish(upload, .png, thumbnailBytes: number == 0 ? 0 : 500_000, self.now)
        }
        let answer3 = self.refusal(10, bytes: 44_500_000)
        #expect(answer3 == nil)
        self.table = AttachmentTable()
        let file = AttachmentDirectory.File(
            digest: Self.digest(1),
            type: .png,
            byteCount: 10_000_000,
            hasThumbnail: true,
            thumbnailBytes: 500_000
        )
        self.table.restore(file, self.now)
        _ = self.table.keep([Self.digest(1): [Self.holder("a")]], self.now)
        for number: UInt8 in 2..<10 { try self.add(number, bytes: 14_000_000) }
        let answer4 = self.refusal(20, bytes: 6_000_000)
        #expect(answer4?.code == .limitExceeded)
        let answer5 = self.refusal(20, bytes: 5_500_000)
        #expect(answer5 == nil)
    }

    @Test func `a file begins within ten seconds, and then arrives at 16 KiB a second or more`() {
        let (rate, begin) = (AttachmentTable.minBytesEachSecond, AttachmentTable.timeToBegin)
        #expect(AttachmentTable.isInTime(0, after: begin))
        #expect(!AttachmentTable.isInTime(0, after: begin + .seconds(1)))
        #expect(AttachmentTable.isInTime(60 * rate, after: begin + .seconds(60)))
        #expect(!AttachmentTable.isInTime(60 * rate, after: begin + .seconds(61)))
        #expect(!AttachmentTable.isInTime(.max, after: AttachmentTable.waitingTime))
    }
}
