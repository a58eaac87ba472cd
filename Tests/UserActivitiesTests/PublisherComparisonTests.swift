// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTesting
@testable import UserActivities

/// Which applications hand activities to each other.
@Suite(.timeLimit(.minutes(2))) struct PublisherComparisonTests {
    private static let one = PublisherKey().chain.id
    private static let other = PublisherKey().chain.id
    private static let notProven: [ApplicationPublisher] = [.unsigned, .unproven(nil), .unproven(Self.one)]

    private func refusal(
        _ own: ApplicationPublisher,
        _ other: ApplicationPublisher,
        acceptsUnsigned: Bool,
        isSameAccount: Bool = true
    ) -> PublisherComparison.Refusal? {
        let comparison = PublisherComparison(
            own: own,
            other: other,
            acceptsUnsigned: acceptsUnsigned,
            isSameAccount: isSameAccount
        )
        if let refusal = comparison.refusal {
            let (message, advice) = comparison.explanation(refusal, own: "one", other: "the other")
            #expect(message.hasSuffix(".") && advice.hasSuffix(".") && !message.contains("\(Self.one)"))
        }
        return comparison.refusal
    }

    @Test(arguments: [true, false])
    func `proven publishers must be the same, in developer mode, too (H-05, H-06)`(acceptsUnsigned: Bool) {
        let (one, other) = (ApplicationPublisher.proven(Self.one), ApplicationPublisher.proven(Self.other))
        #expect(self.refusal(one, one, acceptsUnsigned: acceptsUnsigned) == nil)
        #expect(self.refusal(one, one, acceptsUnsigned: acceptsUnsigned, isSameAccount: false) == nil)
        #expect(self.refusal(one, other, acceptsUnsigned: acceptsUnsigned) == .different)
    }

    @Test func `an application without a proven publisher takes part in developer mode of one account only (H-06)`() {
        let signed = ApplicationPublisher.proven(Self.one)
        for publisher in Self.notProven {
            #expect(self.refusal(signed, publisher, acceptsUnsigned: true) == nil)
            #expect(self.refusal(publisher, signed, acceptsUnsigned: true) == nil)
            #expect(self.refusal(publisher, .unsigned, acceptsUnsigned: true) == nil)
            let theirs = PublisherComparison.Refusal.notProven(publisher, isOwn: false)
            let ours = PublisherComparison.Refusal.notProven(publisher, isOwn: true)
            #expect(self.refusal(signed, publisher, acceptsUnsigned: false) == theirs)
            #expect(self.refusal(publisher, signed, acceptsUnsigned: false) == ours)
            #expect(self.refusal(publisher, publisher, acceptsUnsigned: false) == theirs)
            #expect(self.refusal(signed, publisher, acceptsUnsigned: true, isSameAccount: false) == theirs)
        }
    }

    @Test func `applications of the product need no publisher within one account`() {
        func comparison(
            _ own: ApplicationPublisher,
            isSameAccount: Bool = true
        ) -> PublisherComparison {
            PublisherComparison(
                own: own,
                other: .unsigned,
                acceptsUnsigned: false,
                isSameAccount: isSameAccount,
                isBuiltIn: true
            )
        }
        #expect(comparison(.unproven(nil)).refusal == nil)
        #expect(comparison(.unproven(nil), isSameAccount: false).refusal != nil)
        #expect(comparison(.invalidSignature).refusal == .invalid(isOwn: true))
        #expect(BuiltInApplication.isBuiltIn(BuiltInApplication.mediaPlayers))
        #expect(BuiltInApplication.isBuiltIn("\(BuiltInApplication.webBrowser).firefox"))
        #expect(!BuiltInApplication.isBuiltIn("\(BuiltInApplication.mediaPlayers).other"))
    }

    private static let players = BuiltInApplication.mediaPlayers
    private static let browser = BuiltInApplication.webBrowser + ".firefox"

    /// A program can claim an id of the product. The vouchers of both state that a manifest is signed, so developer
    /// mode is off.
    @Test(arguments: [
        (Self.players, BuiltInApplication.playingMedia, true), (Self.players, ContinuationTests.editing, false),
        (Self.players, UserActivity.browsingWeb, false), (Self.browser, UserActivity.browsingWeb, true),
        (Self.browser, BuiltInApplication.playingMedia, false),
        ("com.example.player", BuiltInApplication.playingMedia, false),
    ])
    func `applications of the product hand over their own type where a signed application is installed, and no other`(
        application: String,
        type: String,
        isHandedOver: Bool
    ) async throws {
        var (laptop, desktop) = (self.laptop, self.desktop)
        (laptop.application, desktop.application) = (application, application)
        (laptop.publisher, desktop.publisher) = (.unsigned, .unsigned)
        let result = try await self.handOver(from: laptop, to: desktop, application: application, type: type)
        #expect(result.failure?.code == (isHandedOver ? nil : .publisherMismatch))
        #expect((result.received != nil) == isHandedOver)
        #expect(
            BuiltInApplication.areBuiltIn(application, "com.example.player", for: type) == false
                && BuiltInApplication.areBuiltIn(application, application, for: type) == isHandedOver
        )
    }

    @Test func `a program that is no part of the product cannot use its ids`() async throws {
        try await DiscoveryStage.with { stage in
            for application in [Self.players, Self.browser] {
                var configuration = stage.configuration
                configuration.applicationID = application
                let host = UserActivityHost(configuration, activityTypes: [], handler: .closure { _ in })
                let error = await #expect(throws: RemoteSystemError.self) { try await host.run(isStaged: true) }
                #expect(error?.code == .invalidArgument && error?.message.contains(application) == true)
            }
        }
    }

    @Test(arguments: [true, false])
    func `an invalid signature is refused always (H-06, B-03)`(acceptsUnsigned: Bool) {
        let signed = ApplicationPublisher.proven(Self.one)
        #expect(self.refusal(.invalidSignature, signed, acceptsUnsigned: acceptsUnsigned) == .invalid(isOwn: true))
        #expect(self.refusal(signed, .invalidSignature, acceptsUnsigned: acceptsUnsigned) == .invalid(isOwn: false))
        #expect(self.refusal(.unsigned, .invalidSignature, acceptsUnsigned: acceptsUnsigned) == .invalid(isOwn: false))
    }

    @Test func `developer mode is automatic: on while no manifest is signed (H-06)`() throws {
        var settings = HandOffSettings()
        #expect(settings.acceptsUnsigned(hasSignedManifests: false))
        #expect(!settings.acceptsUnsigned(hasSignedManifests: true))
        settings.developerMode = .on
        #expect(settings.acceptsUnsigned(hasSignedManifests: true))
        settings.developerMode = .off
        #expect(!settings.acceptsUnsigned(hasSignedManifests: false))
        // A file of a later version is read strictly.
        let later = try HandOffSettings(Array(#"{"developerMode": "later"}"#.utf8), path: "hand-off.json")
        #expect(later.developerMode == .off)
        #expect(try HandOffSettings(Array("{}".utf8), path: "hand-off.json").developerMode == .automatic)
    }

    // MARK: why-not

    private func findings(
        offer: ApplicationPublisher,
        handler: ApplicationPublisher,
        hasWebpage: Bool = false
    ) -> ContinuationFinding? {
        let type = "com.example.reading"
        return ContinuationFacts(
            wanted: type,
            settings: HandOffSettings(),
            systems: [.init(name: "alpha")],
            offers: [
                ContinuationFacts.Offer(
                    id: "00ff",
                    type: type,
                    system: "alpha",
                    hasWebpage: hasWebpage,
                    application: "com.example.author",
                    publisher: offer
                )
            ],
            ownOffers: [],
            hasSignedManifests: true,
            handlers: [
                ContinuationFacts.Handler(
                    application: "com.example.reader",
                    system: nil,
                    types: [type],
                    publisher: handler
                )
            ]
        ).findings.last
    }

    @Test func `why-not names the application that is unsigned, unproven or another publisher's (B-04, H-97)`() throws {
        let signed = ApplicationPublisher.proven(Self.one)
        #expect(self.findings(offer: signed, handler: signed)?.isMet == true)
        let unsigned = try #require(self.findings(offer: signed, handler: .unsigned))
        #expect(unsigned.condition == .publisher && !unsigned.isMet)
        #expect(unsigned.message == "The application com.example.reader is not signed.")
        #expect(unsigned.advice?.contains("--developer-mode on") == true)
        let unproven = try #require(self.findings(offer: .unproven(Self.one), handler: signed))
        #expect(unproven.message.contains("com.example.author is not proven"))
        let different = try #require(self.findings(offer: .proven(Self.other), handler: signed))
        #expect(different.message.contains("different publishers"))
        let page = try #require(self.findings(offer: .proven(Self.other), handler: signed, hasWebpage: true))
        #expect(page.isMet && page.message.contains("browser"))
    }

    @Test func `a watcher asks its caller whether the system has signed manifests`() async throws {
        try await DiscoveryStage.with { stage in
            for isSigned in [false, true] {
                let watcher = UserActivityWatcher(stage.configuration) { isSigned }
                #expect(watcher.hasSignedManifests == isSigned)
            }
        }
    }

    // MARK: Choosing

    @Test func `the application is chosen by publisher, then type, then title, and else by the user (H-14)`()
        async throws
    {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing, title: "Budget")
            let offer = try await desk.offer(activity)
            func candidate(
                _ publisher: ApplicationPublisher,
                titles: Set<String> = []
            ) throws -> ContinuationChoice.Candidate {
                var application = try #require(offer.system.applications.first)
                application.publisher = publisher
                return ContinuationChoice.Candidate(application: application, titles: titles)
            }
            // The offer of a staged system is unproven.
            let (plain, titled) = (try candidate(.unsigned), try candidate(.unproven(nil), titles: ["Budget", "Plan"]))
            let broken = try candidate(.invalidSignature)
            func choice(
                _ handlers: [ContinuationChoice.Candidate],
                _ acceptsUnsigned: Bool = true
            ) -> ContinuationChoice {
                ContinuationChoice(offer, handlers: handlers, acceptsUnsigned: acceptsUnsigned)
            }
            #expect(choice([plain, broken]) == .application(plain.application))
            #expect(choice([plain, titled]) == .application(titled.application))
            #expect(choice([titled, titled]) == .applications([titled.application, titled.application]))
            #expect(choice([plain, plain]) == .applications([plain.application, plain.application]))
            #expect(choice([broken]) == .none)
            #expect(choice([plain], false) == .none)
            // What the user reads when the browser shows the address instead.
            func reasons(
                _ handlers: [ContinuationChoice.Candidate],
                acceptsUnsigned: Bool = false,
                isPermitted: Bool = true
            ) -> [String] {
                ContinuationChoice.reasons(
                    against: handlers,
                    for: offer,
                    acceptsUnsigned: acceptsUnsigned,
                    isPermitted: { _ in isPermitted }
                )
            }
            let id = plain.application.id
            let none = "No application of this system continues activities of the type com.example.editing."
            #expect(reasons([]) == [none])
            #expect(reasons([plain], isPermitted: false) == ["Hand-off to \(id) is switched off."])
            #expect(reasons([plain, broken]).count == 2)
            #expect(reasons([broken]) == ["The manifest of the application \(id) has a signature that is not valid."])
            #expect(reasons([plain], acceptsUnsigned: true).isEmpty)
        }
    }

    @Test func `titles are published with the types, and bounded (H-14)`() {
        let record = HandledTypes.record(["a.b"], titles: ["a.b": ["One", "Two"], "c.d": ["Three"]])
        #expect(HandledTypes.titles(in: record) == ["a.b": ["One", "Two"]])
        #expect(HandledTypes.titles(in: ["Types": ["a.b"], "Titles": ["a.b": [7], "x": "no list"]]) == [:])
        let many = Set((0..<65).map { "\($0)" })
        #expect(throws: RemoteSystemError.self) { try HandledTypes.check(titles: ["a.b": many]) }
        #expect(throws: RemoteSystemError.self) { try HandledTypes.check(titles: ["a.b": [""]]) }
        let all: ValueSet = ["Titles": ["a.b": .array(many.map { .string($0) }), "c.d": ["x"]]]
        #expect(HandledTypes.titles(in: all).values.reduce(0) { $0 + $1.count } <= HandledTypes.maxTitles)
    }

    // MARK: The protocol

    /// What the host daemon of a staged system vouches for.
    private struct Vouching: Sendable {
        var publisher: ApplicationPublisher
        /// The number of the system that signs. The laptop is 1, and the desktop 2.
        var system: Int
        var application = "com.example.editor"
        var audience: SystemID?
        var activity: UUID?

        func source() -> @Sendable (SystemID, UUID) async -> OwnVoucher? {
            { audience, activity in
                let subject = ApplicationVoucher.Subject(
                    application: self.application,
                    audience: self.audience ?? audience,
                    activity: self.activity ?? activity
                )
                guard let identity = try? StagedAccount.own.system(self.system),
                    let voucher = try? ApplicationVoucher(self.publisher, for: subject, by: identity)
                else { return nil }
                return OwnVoucher(bytes: voucher.bytes, publisher: self.publisher, hasSignedManifests: true)
            }
        }
    }

    /// Hands an activity from the laptop to the desktop, and returns the failure and what the desktop received.
    private func handOver(
        from laptop: Vouching,
        to desktop: Vouching,
        application: String = "com.example.editor",
        type: String = ContinuationTests.editing,
        isWebpageOnly: Bool = false
    ) async throws -> (failure: ContinuationError?, received: ValueSet?) {
        let received = Mutex<ValueSet?>(nil)
        let failure = Mutex<ContinuationError?>(nil)
        try await DiscoveryStage.with { stage in
            func editor(_ vouching: Vouching) -> StagedApplication {
                var editor = StagedApplication(application)
                editor.activities = .init(types: [type]) { activity in
                    received.withLock { $0 = activity.userInfo }
                }
                editor.activities?.options.isBuiltIn = BuiltInApplication.isBuiltIn(application)
                editor.activities?.options.voucher = vouching.source()
                return editor
            }
            let laptop = try stage.system("Laptop", applications: [editor(laptop)])
            let desktop = try stage.system("Desktop", applications: [editor(desktop)])
            try await stage.appears(laptop)
            try await stage.appears(desktop)
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()
            let activity = UserActivity(type: type)
            // A page has its address only.
            if type != UserActivity.browsingWeb { activity.userInfo = ["Text": "secret"] }
            activity.webpageURL = URL(string: "https://example.com/minutes")
            try await activity.becomeCurrent(at: laptop.activityHost())
            try await stage.eventually("the offer is listed") { !watcher.offers.isEmpty }
            let offer = try #require(watcher.offers.first)
            do {
                let host = try await desktop.activityHost()
                if isWebpageOnly {
                    try await host.continueWebpage(of: offer)
                } else {
                    try await host.continue(offer)
                }
                #expect(!activity.isCurrent)
            } catch let error as ContinuationError {
                failure.withLock { $0 = error }
                // Nothing is lost: the offer is still there.
                #expect(activity.isCurrent)
            }
            await watcher.stop()
        }
        return (failure.withLock { $0 }, received.withLock { $0 })
    }

    private var laptop: Vouching { Vouching(publisher: .proven(Self.one), system: 1) }
    private var desktop: Vouching { Vouching(publisher: .proven(Self.one), system: 2) }

    @Test func `signed applications of one publisher hand over (H-05, B-03)`() async throws {
        let result = try await self.handOver(from: self.laptop, to: self.desktop)
        #expect(result.failure == nil && result.received == ["Text": "secret"])
    }

    @Test(arguments: [
        ApplicationPublisher.proven(Self.other), .unsigned, .unproven(Self.one), .invalidSignature,
    ])
    func `the origin refuses a receiver of another, no, or an unproven publisher (H-05, H-06)`(
        publisher: ApplicationPublisher
    ) async throws {
        var desktop = self.desktop
        desktop.publisher = publisher
        let result = try await self.handOver(from: self.laptop, to: desktop)
        #expect(result.failure?.code == .publisherMismatch && result.received == nil)
        #expect(result.failure?.side == .remote)
    }

    @Test func `the receiver refuses an origin whose voucher is missing or for something else (H-05, H-06)`()
        async throws
    {
        // The origin itself would send, and states about itself that it is proven. Its vouchers are those of another
        // application, system, receiver or activity, as if it had stolen them.
        var (application, system, audience, activity) = (self.laptop, self.laptop, self.laptop, self.laptop)
        application.application = "com.example.other"
        system.system = 2
        audience.audience = try StagedAccount.own.system(1).systemID
        activity.activity = UUID()
        for stolen in [application, system, audience, activity] {
            let result = try await self.handOver(from: stolen, to: self.desktop)
            #expect(result.failure?.code == .publisherMismatch && result.received == nil)
            #expect(result.failure?.side == .local)
        }
    }

    @Test func `a receiver that presents a stolen voucher gets nothing (H-05, H-06)`() async throws {
        var (application, system, activity) = (self.desktop, self.desktop, self.desktop)
        application.application = "com.example.other"
        system.system = 1
        activity.activity = UUID()
        for stolen in [application, system, activity] {
            let result = try await self.handOver(from: self.laptop, to: stolen)
            #expect(result.failure?.code == .publisherMismatch && result.failure?.side == .remote)
            #expect(result.received == nil)
        }
    }

    @Test func `a browser of the same account gets the address whatever its publisher`() async throws {
        var desktop = self.desktop
        for publisher in [ApplicationPublisher.proven(Self.other), .unsigned] {
            desktop.publisher = publisher
            let result = try await self.handOver(from: self.laptop, to: desktop, isWebpageOnly: true)
            #expect(result.failure == nil && result.received == [:])
        }
    }

    @Test func `a browser receives the title and the address, and nothing else`() throws {
        let activity = UserActivity(type: ContinuationTests.editing, title: "Minutes")
        activity.userInfo = ["Text": "secret"]
        activity.targetContentIdentifier = "secret"
        activity.keywords = ["secret"]
        #expect(try ActivityPayload(activity, isStale: false).webpageOnly == nil)
        activity.webpageURL = URL(string: "https://example.com/minutes")
        let part = try #require(try ActivityPayload(activity, isStale: false).webpageOnly)
        #expect(!"\(part.message)".contains("secret") && part.attributes.title == "Minutes")
        let request = ContinuationRequest.fetch(activity: activity.id, voucher: nil, isWebpageOnly: true)
        #expect(ContinuationRequest(request.message) == request)
        let full = ContinuationRequest.fetch(activity: activity.id, voucher: [1, 2])
        #expect(ContinuationRequest(full.message) == full)
    }
}
