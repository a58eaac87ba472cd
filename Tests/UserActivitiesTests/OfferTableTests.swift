// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import RemoteSystems
@testable import UserActivities

/// The list of offers, filled by systems that publish more than they should.
@Suite(.timeLimit(.minutes(2))) struct OfferTableTests {
    private static let now = ContinuousClock.now

    private static func record(_ number: Int = 0, lifetime: Int64 = 600) -> ValueSet {
        Self.record("Text \(number)", lifetime: lifetime)
    }

    private static func record(_ title: String, lifetime: Int64 = 600) -> ValueSet {
        [
            "Type": "com.example.editing", "Title": .string(title), "Expires": .date(secondsSince1970: 0),
            "Lifetime": .integer(lifetime),
        ]
    }

    /// The records of applications with so many activities each.
    private static func applications(_ count: Int, activities: Int) -> [String: [String: ValueSet]] {
        Dictionary(
            uniqueKeysWithValues: (0..<count).map { application in
                let records = (0..<activities).map { (UUID().uuidString.lowercased(), Self.record($0)) }
                return ("com.example.a\(application)", Dictionary(uniqueKeysWithValues: records))
            }
        )
    }

    /// Runs a body with systems of a stage, which a table lists.
    private func with(
        _ count: Int,
        application: String = "a.b",
        _ body: @escaping @Sendable (OfferTable, [RemoteSystem]) throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            for number in 0..<count {
                try await stage.appears(try stage.system("System \(number)", application: application))
            }
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.eventually("all are listed") { watcher.systems.count == count }
            var table = OfferTable()
            for system in watcher.systems { table.listed(system) }
            try body(table, watcher.systems)
            await watcher.stop()
        }
    }

    @Test func `of ten thousand descriptors a bounded number is listed, and the others are counted`() async throws {
        try await self.with(3) { table, systems in
            var table = table
            // One system with many applications, one with many activities, one as it should be.
            table.published(Self.applications(2500, activities: 2), by: systems[0].id, now: Self.now)
            table.published(Self.applications(1, activities: 5000), by: systems[1].id, now: Self.now)
            table.published(Self.applications(3, activities: 1), by: systems[2].id, now: Self.now)
            let offers = table.offers(now: Self.now)
            let counts = systems.map { system in offers.count { $0.system.id == system.id } }
            #expect(counts == [OfferTable.maxOfSystem, OfferTable.maxOfApplication, 3])
            #expect(table.omittedCount == 10_003 - offers.count)
            table.published([:], by: systems[0].id, now: Self.now)
            #expect(table.offers(now: Self.now).count == OfferTable.maxOfApplication + 3)
            table.removed(systems[1].id)
            #expect(table.omittedCount == 0)
        }
    }

    @Test func `all systems together cannot fill more than the list holds`() async throws {
        try await self.with(2) { table, systems in
            var table = table
            // Systems that are not listed yet, or no longer, count too.
            for _ in 0..<(OfferTable.maxInAll / OfferTable.maxOfSystem) {
                let stranger = try Self.randomID()
                table.published(Self.applications(100, activities: 1), by: stranger, now: Self.now)
            }
            table.published(Self.applications(3, activities: 1), by: systems[0].id, now: Self.now)
            #expect(table.offers(now: Self.now).isEmpty && table.omittedCount == 3)
            // What has expired makes room.
            let later = Self.now + .seconds(601)
            table.expire(now: later)
            table.published(Self.applications(3, activities: 1), by: systems[0].id, now: later)
            #expect(table.offers(now: later).count == 3 && table.omittedCount == 0)
        }
    }

    private static func randomID() throws -> SystemID {
        try #require(SystemID(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }))
    }

    @Test func `the list is complete when the last program of each system has sent its offers`() async throws {
        try await self.with(1) { table, systems in
            var table = table
            let all = Self.applications(2, activities: 6)
            let first = all.filter { $0.key == "com.example.a0" }
            table.published(first, by: systems[0].id, isComplete: false, now: Self.now)
            var publishing = systems[0]
            publishing.applications[0].topics = [ActivityDescriptor.topic]
            table.listed(publishing)
            #expect(!table.isComplete && table.offers(now: Self.now).count == 4 && table.omittedCount == 2)
            table.published(all, by: systems[0].id, now: Self.now)
            #expect(table.isComplete && table.offers(now: Self.now).count == 8 && table.omittedCount == 4)
            // Another program has started.
            table.published(all, by: systems[0].id, isComplete: false, now: Self.now)
            #expect(!table.isComplete && table.offers(now: Self.now).count == 8 && table.omittedCount == 4)
        }
    }

    @Test(arguments: [RemoteSystemHost.machineApplicationID, "com.example.editor"])
    func `what this system continues is known when its daemon has sent all of it`(application: String) async throws {
        try await self.with(1, application: application) { table, systems in
            var table = table
            var own = systems[0]
            own.isLocal = true
            own.applications[0].topics = [ActivityDescriptor.topic]
            table.listed(own)
            table.published([:], by: own.id, isComplete: false, now: Self.now)
            #expect(!table.hasOwnHandlers)
            table.published([:], by: own.id, now: Self.now)
            // Without a daemon, other programs may be found later.
            #expect(table.hasOwnHandlers == (application == RemoteSystemHost.machineApplicationID))
            own.isLocal = false
            table.listed(own)
            #expect(!table.hasOwnHandlers)
        }
    }

    @Test func `an application of this system that publishes no types is known, and none of another system (X-14)`()
        async throws
    {
        try await self.with(2, application: "com.example.reader") { table, systems in
            var table = table
            var own = systems[0]
            own.isLocal = true
            table.listed(own)
            #expect(table.ownApplicationsWithoutTypes == ["com.example.reader"])
            let records = [HandledTypes.key: HandledTypes.record(["com.example.reading"])]
            table.published(["com.example.reader": records], by: systems[1].id, now: Self.now)
            #expect(table.ownApplicationsWithoutTypes == ["com.example.reader"])
            table.published(["com.example.reader": records], by: own.id, now: Self.now)
            #expect(table.ownApplicationsWithoutTypes.isEmpty)
            // As when the user switches receiving off.
            table.published(["com.example.reader": [:]], by: own.id, now: Self.now)
            #expect(table.ownApplicationsWithoutTypes == ["com.example.reader"])
        }
    }

    @Test func `this system is listed as soon as one of its processes is`() async throws {
        try await self.with(1) { table, systems in
            var table = table
            #expect(!table.hasOwnSystem)
            var own = systems[0]
            own.isLocal = true
            table.listed(own)
            #expect(table.hasOwnSystem)
            table.removed(own.id)
            #expect(!table.hasOwnSystem)
        }
    }

    @Test(arguments: [true, false])
    func `an id that another system copies is listed for both, whichever is published first`(
        isCopiedFirst: Bool
    ) async throws {
        try await self.with(2) { table, systems in
            var table = table
            let id = UUID()
            let records = [id.uuidString.lowercased(): Self.record()]
            let (own, copier) = (systems[0], systems[1])
            for system in isCopiedFirst ? [copier, own] : [own, copier] {
                table.published(["com.example.editor": records], by: system.id, now: Self.now)
            }
            let offers = table.offers(now: Self.now)
            #expect(offers.map(\.id) == [id, id] && table.omittedCount == 0)
            #expect(Set(offers.map(\.system.id)) == [own.id, copier.id])
            // Neither system's changes concern the other one's offer.
            table.published([:], by: copier.id, now: Self.now)
            #expect(table.offers(now: Self.now).map(\.system.id) == [own.id])
            table.published(["com.example.editor": records], by: copier.id, now: Self.now)
            table.published([:], by: own.id, now: Self.now)
            #expect(table.offers(now: Self.now).map(\.system.id) == [copier.id])
        }
    }

    @Test func `two applications of a system can state an id, and each one states it once`() async throws {
        try await self.with(1) { table, systems in
            var table = table
            let id = UUID()
            let records = [id.uuidString.lowercased(): Self.record()]
            // In capital letters it is the same id.
            let twice = records.merging([id.uuidString: Self.record(1)]) { $1 }
            table.published(
                ["com.example.first": twice, "com.example.second": records],
                by: systems[0].id,
                now: Self.now
            )
            let offers = table.offers(now: Self.now)
            #expect(offers.map(\.applicationID) == ["com.example.first", "com.example.second"])
            #expect(offers.map(\.id) == [id, id] && table.omittedCount == 1)
        }
    }

    @Test func `an id of several offers names none of them without their origin`() async throws {
        try await self.with(2) { table, systems in
            var table = table
            let id = UUID()
            let text = id.uuidString.lowercased()
            let records = [text: Self.record()]
            table.published(["com.example.editor": records], by: systems[0].id, now: Self.now)
            let one = try table.offers(now: Self.now).offer(withID: id.uuidString)
            #expect(one?.system.id == systems[0].id)
            table.published(["com.example.copier": records], by: systems[1].id, now: Self.now)
            let offers = table.offers(now: Self.now)
            let ambiguous = try #require(throws: AmbiguousOffer.self) { try offers.offer(withID: text) }
            for system in systems {
                #expect(ambiguous.message.contains("\n\(system.id.short) “\(system.displayName)”  com.example."))
            }
            #expect(ambiguous.message.contains("An id is unique unless a system copies it."))
            #expect(ambiguous.message.contains("'remotesystems activities continue \(text) --from SYSTEM'"))
            #expect(throws: AmbiguousOffer.self) { try offers.named(String(text.prefix(8))) }
            #expect(throws: AmbiguousOffer.self) { try offers.named(nil) }
            for system in systems {
                for origin in [system.displayName, system.id.description, String(system.id.description.prefix(20))] {
                    let named = try offers.named(text, from: origin)
                    #expect(named?.system.id == system.id, "\(origin)")
                }
            }
            let copied = try offers.named(text, from: "com.example.copier")
            #expect(copied?.system.id == systems[1].id)
            let none = try offers.named(text, from: "System 7")
            #expect(none == nil)
        }
    }

    @Test func `an offer is named by its id, its system and its application together`() async throws {
        try await self.with(2) { table, systems in
            var table = table
            let id = UUID()
            let records = [id.uuidString.lowercased(): Self.record()]
            for system in systems {
                table.published(["com.example.one": records, "com.example.two": records], by: system.id, now: Self.now)
            }
            let offers = table.offers(now: Self.now)
            let text = id.uuidString
            // Neither of the two is enough.
            #expect(throws: AmbiguousOffer.self) { try offers.offer(withID: text, of: systems[0].id) }
            #expect(throws: AmbiguousOffer.self) { try offers.offer(withID: text, by: "com.example.one") }
            for system in systems {
                for application in ["com.example.one", "com.example.two"] {
                    let offer = try offers.offer(withID: text, of: system.id, by: application)
                    #expect(offer?.system.id == system.id && offer?.applicationID == application)
                }
            }
            let none = try offers.offer(withID: text, of: systems[0].id, by: "com.example.three")
            #expect(none == nil)
        }
    }

    @Test(arguments: [true, false])
    func `a title adds no entry to the list of offers, and names no other system`(isCopy: Bool) async throws {
        try await self.with(2) { table, systems in
            var table = table
            let (trusted, hostile) = (systems[0], systems[1])
            let (id, other) = (UUID(), UUID())
            let title =
                "Report”\n\(trusted.id.short) “\(trusted.displayName)”  com.example.editor  “Report "
                + String(repeating: "x", count: 200)
            table.published(
                ["com.example.editor": [id.uuidString.lowercased(): Self.record("Report")]],
                by: trusted.id,
                now: Self.now
            )
            table.published(
                ["com.example.copier, by": [(isCopy ? id : other).uuidString.lowercased(): Self.record(title)]],
                by: hostile.id,
                now: Self.now
            )
            let offers = table.offers(now: Self.now)
            let ambiguous = try #require(throws: AmbiguousOffer.self) { try offers.named(nil) }
            let lines = ambiguous.message.split(separator: "\n").map(String.init)
            // A sentence before the list, and the advice after it.
            #expect(lines.count == 4, "\(lines)")
            func entries(of system: RemoteSystem, _ id: UUID) -> [String] {
                let start = isCopy ? "" : "\(id.uuidString.lowercased().prefix(8))  "
                return lines.filter { $0.hasPrefix("\(start)\(system.id.short) “\(system.displayName)”  ") }
            }
            #expect(entries(of: trusted, id).map { $0.hasSuffix("  com.example.editor  “Report”") } == [true])
            let copy = try #require(entries(of: hostile, isCopy ? id : other).first)
            #expect(copy.contains("  “com.example.copier, by”  “Report' ") && copy.hasSuffix("…”"), "\(copy)")
            #expect(copy.count { $0 == "”" } == 3 && copy.count < 150, "\(copy)")
        }
    }

    private static func account(_ number: Int) throws -> AccountID {
        try #require(AccountID(bytes: [UInt8](repeating: UInt8(number), count: 32)))
    }

    @Test(arguments: [true, false])
    func `a linked account takes no id from an activity of this account (H-02)`(isLinkedFirst: Bool) async throws {
        try await self.with(2) { table, systems in
            var table = table
            let id = UUID()
            let records = ["com.example.editor": [id.uuidString.lowercased(): Self.record()]]
            let own = systems[0]
            var linked = systems[1]
            linked.authorizationKind = .linked
            table.listed(linked)
            let account = try Self.account(1)
            if isLinkedFirst { table.published(records, by: linked.id, of: account, now: Self.now) }
            table.published(records, by: own.id, now: Self.now)
            if !isLinkedFirst { table.published(records, by: linked.id, of: account, now: Self.now) }
            let offers = table.offers(now: Self.now)
            #expect(offers.count == 2 && table.omittedCount == 0)
            let chosen = try offers.offer(withID: id.uuidString)
            #expect(chosen?.system.id == own.id)
            // The user can name the other one.
            let other = try offers.named(nil, from: linked.displayName)
            #expect(other?.system.id == linked.id)
        }
    }

    @Test func `a linked account that fills its places displaces nothing of another one, or of this one (H-02)`()
        async throws
    {
        try await self.with(3) { table, systems in
            var table = table
            let (own, greedy, other) = (systems[0], systems[1], systems[2])
            let (greedyAccount, otherAccount) = (try Self.account(1), try Self.account(2))
            let early = Self.applications(1, activities: 1)
            table.published(early, by: other.id, of: otherAccount, now: Self.now)
            // Many systems that are not listed, and one that is.
            for _ in 0..<(OfferTable.maxInAll / OfferTable.maxOfSystem) {
                let applications = Self.applications(100, activities: 1)
                table.published(applications, by: try Self.randomID(), of: greedyAccount, now: Self.now)
            }
            table.published(Self.applications(3, activities: 1), by: greedy.id, of: greedyAccount, now: Self.now)
            #expect(table.offers(now: Self.now).map(\.system.id) == [other.id] && table.omittedCount == 3)
            // The other account's places are all free, also for what it offers later.
            let late = Self.applications(OfferTable.maxOfLinkedAccount, activities: 1)
            table.published(late, by: other.id, of: otherAccount, now: Self.now)
            table.published(Self.applications(2, activities: 1), by: own.id, now: Self.now)
            let offers = table.offers(now: Self.now)
            #expect(offers.count { $0.system.id == other.id } == OfferTable.maxOfLinkedAccount)
            #expect(offers.count { $0.system.id == own.id } == 2 && table.omittedCount == 3)
        }
    }

    @Test func `the places of a linked account are for all of its systems, and free again when it needs fewer`()
        async throws
    {
        try await self.with(2) { table, systems in
            var table = table
            let account = try Self.account(1)
            let many = Self.applications(OfferTable.maxOfLinkedAccount - 1, activities: 1)
            table.published(many, by: systems[0].id, of: account, now: Self.now)
            table.published(Self.applications(3, activities: 1), by: systems[1].id, of: account, now: Self.now)
            #expect(table.offers(now: Self.now).count { $0.system.id == systems[1].id } == 1)
            #expect(table.omittedCount == 2)
            table.published([:], by: systems[0].id, of: account, now: Self.now)
            table.published(Self.applications(3, activities: 1), by: systems[1].id, of: account, now: Self.now)
            #expect(table.offers(now: Self.now).count == 3 && table.omittedCount == 0)
        }
    }

    @Test func `all accounts that can be linked leave more than half of the places to this one`() {
        #expect(LinkList.maxLinks * OfferTable.maxOfLinkedAccount < OfferTable.maxInAll / 2)
    }

    @Test func `the offer of a process that hangs ends 10 min after its last refresh (X-04)`() async throws {
        try await self.with(1) { table, systems in
            var table = table
            let activity = UserActivity(type: "com.example.editing")
            let lifetime = UserActivityHost.Options().offerLifetime
            #expect(lifetime == .seconds(600))
            // As the process publishes it at first, and again after half of the time.
            for minutes in [0, 5] {
                let descriptor = ActivityDescriptor(
                    activity,
                    expirationDate: Date(timeIntervalSince1970: Double(600 + minutes * 60)),
                    lifetime: lifetime
                )
                table.published(
                    ["com.example.editor": [descriptor.key: descriptor.record]],
                    by: systems[0].id,
                    now: Self.now + .seconds(minutes * 60)
                )
            }
            // Nothing has come since then.
            let end = Self.now + .seconds(5 * 60 + 600)
            #expect(table.nextEnd == end)
            #expect(table.offers(now: end - .seconds(1)).map(\.id) == [activity.id])
            #expect(table.offers(now: end).isEmpty)
        }
    }

    @Test func `a process that runs refreshes its offer in half of the time (X-04)`() async throws {
        try await DiscoveryStage.with { stage in
            let origin = ActivityOrigin(stage.configuration, UserActivityHost.Options())
            origin.begin()
            let activity = UserActivity(type: "com.example.editing")
            try await origin.makeCurrent(activity)
            let first = origin.topic.records
            #expect(first.values.compactMap { $0["Lifetime"]?.int } == [600])
            try await stage.advance(by: .seconds(299))
            #expect(origin.topic.records == first)
            try await stage.advance(by: .seconds(2))
            try await stage.eventually("the offer is refreshed") { origin.topic.records != first }
            #expect(origin.topic.records.keys == first.keys)
            origin.end()
        }
    }

    @Test(arguments: [0, -1, 86_401, .min, .max] as [Int64])
    func `a descriptor with a lifetime outside its range is ignored`(seconds: Int64) {
        let record = Self.record(lifetime: seconds)
        #expect(ActivityDescriptor(key: UUID().uuidString, record) == nil)
    }

    @Test func `a descriptor that is not one is ignored, and an expiry in the past is for display only`() throws {
        let good = Self.record()
        #expect(ActivityDescriptor(key: "no id", good) == nil)
        for key in ["Type", "Expires", "Lifetime"] {
            var damaged = good
            damaged[key] = nil
            #expect(ActivityDescriptor(key: UUID().uuidString, damaged) == nil, "\(key)")
            damaged[key] = ["nested": 1]
            #expect(ActivityDescriptor(key: UUID().uuidString, damaged) == nil, "\(key)")
        }
        for type in ["editing", "com.exa\u{1B}[2Jmple", "", "com.example." + String(repeating: "x", count: 300)] {
            var damaged = good
            damaged["Type"] = .string(type)
            #expect(ActivityDescriptor(key: UUID().uuidString, damaged) == nil, "\(type.debugDescription)")
        }
        #expect(ActivityDescriptor(key: UUID().uuidString, good)?.expirationDate == Date(timeIntervalSince1970: 0))
    }

    @Test func `a title cannot steer a terminal, and is cut off`() throws {
        for title in ["\u{1B}]0;owned\u{7}Text", "\u{9B}31mText", "Te\r\nxt", "T\u{202E}ext", "\u{0}Text\u{200B}"] {
            var record = Self.record()
            record["Title"] = .string(title)
            let shown = try #require(ActivityDescriptor(key: UUID().uuidString, record)?.title)
            #expect(shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(shown)")
            #expect(!shown.contains("\u{202E}") && !shown.contains("\u{9B}"))
            let activity = UserActivity(type: "com.example.editing", title: title)
            #expect(try ActivityPayload(activity, isStale: false).attributes.title == shown)
        }
        var record = Self.record()
        record["Title"] = .string(String(repeating: "é", count: 1000))
        #expect(ActivityDescriptor(key: UUID().uuidString, record)?.title?.utf8.count == 512)
        // Half a flag is not kept.
        record["Title"] = .string(String(repeating: "🇦🇹", count: 10_000))
        #expect(ActivityDescriptor(key: UUID().uuidString, record)?.title == String(repeating: "🇦🇹", count: 64))
        record["Title"] = "\u{1B}\u{7}"
        #expect(ActivityDescriptor(key: UUID().uuidString, record)?.title == nil)
    }

    @Test func `1 000 offers from 100 systems are all listed, by system and application`() async throws {
        try await self.with(1) { table, systems in
            var table = table
            let names = (0..<100).map { "System \($0 < 10 ? "0" : "")\($0)" }
            for name in names.shuffled() {
                let system = RemoteSystem(
                    id: try Self.randomID(),
                    displayName: name,
                    kind: systems[0].kind,
                    status: systems[0].status,
                    platform: systems[0].platform,
                    discoveryType: systems[0].discoveryType,
                    authorizationKind: systems[0].authorizationKind,
                    isLocal: false,
                    applications: [],
                    accountID: nil,
                    accountName: nil,
                    origin: systems[0].origin
                )
                table.listed(system)
                table.published(Self.applications(10, activities: 1), by: system.id, now: Self.now)
            }
            let offers = table.offers(now: Self.now)
            #expect(offers.map(\.system.displayName) == names.flatMap { Array(repeating: $0, count: 10) })
            #expect(offers.prefix(10).map(\.applicationID) == (0..<10).map { "com.example.a\($0)" })
            #expect(table.omittedCount == 0)
        }
    }
}
