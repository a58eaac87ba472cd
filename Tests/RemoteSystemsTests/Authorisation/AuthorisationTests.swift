// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// The one place that decides what a peer may do: every standing with every target.
@Suite struct AuthorisationTests {
    typealias Target = Authorisation.Target
    typealias Offer = Authorisation.ServiceOffer

    static let account = AccountID(bytes: [UInt8](repeating: 1, count: 32))
    static let system = SystemID(bytes: [UInt8](repeating: 2, count: 32))
    static let own = SystemID(bytes: [UInt8](repeating: 3, count: 32))

    static func subject(
        _ standing: Standing,
        isLocal: Bool = false,
        application: String = "test.caller"
    ) throws -> Authorisation.Subject {
        let (system, own) = (try #require(Self.system), try #require(Self.own))
        return Authorisation.Subject(
            PeerIdentity(standing, systemID: isLocal ? own : system, expiry: .distantFuture),
            application: application,
            own: own
        )
    }

    private static func offer(_ callers: AppServiceCallers = .account, remote: Bool = true) -> Offer {
        Offer(application: "test.host", supportsRemote: remote, callers: callers)
    }

    /// Every kind of target that is not an app service.
    private static let others: [Target] = [
        .presence, .renewal, .diagnosis, .stream, .launching(schemes: nil), .launching(schemes: ["https", "odd"]),
        .launch(scheme: "https"), .topic("test.topic"), .application("test.other"),
    ]

    private func allowed(
        _ targets: [Target] = others,
        to standing: Standing,
        anyone: Bool = false
    ) throws -> [Target] {
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: anyone)
        let subject = try Self.subject(standing)
        return targets.filter { authorisation.decide(subject, $0) == .allowed }
    }

    @Test func `a system of the account may use everything but what a service's rules exclude`() throws {
        let account = try #require(Self.account)
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: false)
        #expect(try self.allowed(to: .sameAccount(account)) == Self.others)
        let cases: [(offer: Offer?, isLocal: Bool, application: String, Authorisation.Decision)] = [
            (nil, false, "test.caller", .refused(.unknownService)),
            (nil, true, "test.caller", .refused(.unknownService)),
            (Self.offer(), false, "", .allowed),
            (Self.offer(remote: false), false, "test.caller", .refused(.callerNotLocal)),
            (Self.offer(remote: false), true, "test.caller", .allowed),
            (Self.offer(.sameApplication), false, "test.host", .allowed),
            (Self.offer(.sameApplication), false, "test.caller", .refused(.callerNotListed)),
            (Self.offer(.applications(["test.caller"])), false, "test.caller", .allowed),
            (Self.offer(.applications(["test.caller"])), true, "", .refused(.callerNotListed)),
            (Self.offer(.anyoneNearby), false, "test.caller", .allowed),
        ]
        for (offer, isLocal, application, expected) in cases {
            let subject = try Self.subject(.sameAccount(account), isLocal: isLocal, application: application)
            #expect(authorisation.decide(subject, .service("test.service", offer)) == expected)
        }
    }

    @Test func `a linked account's system may use what was granted and nothing else`() throws {
        let account = try #require(Self.account)
        let cases: [(Grants, [Target])] = [
            (Grants(), []),
            (Grants(services: ["test.service"]), [.presence, .stream]),
            (
                Grants(uriSchemes: ["https"]),
                [
                    .presence, .launching(schemes: nil), .launching(schemes: ["https", "odd"]),
                    .launch(scheme: "https"),
                ]
            ),
            (Grants(uriSchemes: ["http"]), [.presence, .launching(schemes: nil)]),
            (Grants(topics: ["test.topic"]), [.presence, .topic("test.topic")]),
        ]
        for (grants, expected) in cases {
            #expect(try self.allowed(to: .linked(account, grants)) == expected, "\(grants)")
        }
    }

    @Test func `a granted service keeps its own rules`() throws {
        let account = try #require(Self.account)
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: false)
        let cases: [(granted: String, offer: Offer?, Authorisation.Decision)] = [
            ("test.service", Self.offer(), .allowed),
            ("test.other", Self.offer(), .refused(.notGranted)),
            ("test.service", nil, .refused(.unknownService)),
            ("test.service", Self.offer(remote: false), .refused(.callerNotLocal)),
            ("test.service", Self.offer(.sameApplication), .refused(.callerNotListed)),
            ("test.other", Self.offer(.anyoneNearby), .refused(.notGranted)),
        ]
        for (granted, offer, expected) in cases {
            let subject = try Self.subject(.linked(account, Grants(services: [granted])))
            #expect(authorisation.decide(subject, .service("test.service", offer)) == expected)
        }
    }

    @Test func `an anonymous system may use what is offered to anyone, where the host allows it`() throws {
        #expect(try self.allowed(to: .anonymous).isEmpty)
        #expect(try self.allowed(to: .anonymous, anyone: true) == [.presence])
        let services: [Target] = [
            .service("a", Self.offer(.anyoneNearby)), .service("b", Self.offer(.anyoneNearby, remote: false)),
            .service("c", Self.offer()), .service("d", nil),
        ]
        #expect(try self.allowed(services, to: .anonymous).isEmpty)
        #expect(try self.allowed(services, to: .anonymous, anyone: true) == [services[0]])
        // A linked account has no fewer rights.
        let linked = Standing.linked(try #require(Self.account), Grants())
        #expect(try self.allowed(services + Self.others, to: linked, anyone: true) == [services[0], .presence])
    }

    @Test func `a system of another account gets one refusal for every reason`() throws {
        let account = try #require(Self.account)
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: true)
        let offered = [(name: "test.secret", offer: Self.offer())]
        for standing in [Standing.linked(account, Grants(services: ["test.service"])), .anonymous] {
            for target in Self.others + [.service("test.service", nil), .service("test.service", Self.offer())] {
                for reason in Authorisation.Reason.allCases {
                    let refusal = authorisation.refusal(
                        of: try Self.subject(standing),
                        target,
                        for: reason,
                        services: offered
                    )
                    #expect(refusal == AnonymousConnections.refusal)
                }
            }
        }
    }

    @Test func `a refusal names only the services that the caller may call`() throws {
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: false)
        let refusal = authorisation.refusal(
            of: try Self.subject(.sameAccount(try #require(Self.account))),
            .service("test.volumes", nil),
            for: .unknownService,
            services: [("test.volume", Self.offer()), ("test.hidden", Self.offer(.sameApplication))]
        )
        #expect(refusal.failure.text.contains("test.volume") && !refusal.failure.text.contains("test.hidden"))
    }

    @Test(arguments: [RequestCallers.all, .account, .accountDaemons, .sameSystem])
    func `a linked system may send only the requests that all callers may send`(callers: RequestCallers) throws {
        let events = Recorder.Events()
        let refusals = RefusalLog(Logger(label: "test") { _ in Recorder(events: events) })
        let caller = AppServiceCaller(
            systemID: try #require(Self.system),
            standing: .linked(try #require(Self.account), Grants(services: ["test.service"])),
            isLocal: false,
            claimedApplicationID: RemoteSystemHost.machineApplicationID
        )
        let isPermitted = refusals.permits("test", of: "test.service", by: caller, callers)
        #expect(isPermitted == (callers == .all))
        let requests = events.all.withLock { $0.map { $0["request"].map { "\($0)" } } }
        #expect(requests == (isPermitted ? [] : ["test"]))
    }

    // MARK: Audit events

    /// A log handler that keeps the metadata of each message.
    private struct Recorder: LogHandler {
        final class Events: Sendable {
            let all = Mutex<[Logger.Metadata]>([])
        }

        let events: Events
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.events.all.withLock { $0.append(event.metadata ?? [:]) }
        }
    }

    @Test func `an audit event has stable keys`() throws {
        let events = Recorder.Events()
        let logger = Logger(label: "test") { _ in Recorder(events: events) }
        let account = try #require(Self.account)
        let subject = try Self.subject(.linked(account, Grants()), application: "evil\u{1B}[31m")
        let incidents = IncidentLog(logger)
        for event in [
            AuditEvent(.refused(.notGranted), about: subject, .service("test.service", nil)),
            AuditEvent(.allowed, about: subject, .launch(scheme: "https")),
        ] {
            event.write(to: logger, limitedBy: incidents, of: subject)
        }
        AuditEvent(.linkWithdrawn, account).write(to: logger)
        let metadata = events.all.withLock { $0 }.map { $0.mapValues { "\($0)" } }
        let peer = ["peer.system": "\(subject.system)", "peer.account": "\(account)", "peer.standing": "linked"]
            .merging(["peer.application": "evil [31m"]) { $1 }
        #expect(metadata.count == 3)
        #expect(
            metadata.first
                == peer.merging([
                    "event": "access.refused", "target": "service", "service": "test.service", "decision": "deny",
                    "reason": "not-granted",
                ]) { $1 }
        )
        #expect(
            metadata.dropFirst().first
                == peer.merging([
                    "event": "access.allowed", "target": "launch", "scheme": "https", "decision": "allow",
                ]) { $1 }
        )
        #expect(metadata.last == ["event": "link.withdrawn", "peer.account": "\(account)"])
    }

    @Test func `a flood of refusals is logged in part, and counted`() async throws {
        let events = Recorder.Events()
        let logger = Logger(label: "test") { _ in Recorder(events: events) }
        let incidents = IncidentLog(logger, period: .seconds(2))
        let flooding = try Self.subject(.anonymous)
        let event = AuditEvent(.refused(.otherAccount), about: flooding, .presence)
        for _ in 0..<100_000 { event.write(to: logger, limitedBy: incidents, of: flooding) }
        // A busy machine may need more than one period.
        func single() -> [Logger.Metadata] { events.all.withLock { $0.filter { $0["count"] == nil } } }
        func counted() -> Int {
            events.all.withLock { $0.compactMap { $0["count"].flatMap { Int("\($0)") } }.reduce(0, +) }
        }
        #expect(single().count >= 10)
        try await until { single().count + counted() == 100_000 }
        let summaries = events.all.withLock { $0.count { $0["count"] != nil } }
        #expect(single().count <= 10 * (summaries + 1))
        #expect(events.all.withLock { $0.allSatisfy { $0["event"].map { "\($0)" } == "access.refused" } })
    }

    @Test func `the systems of a linked account, and anonymous ones, hide no refusals of others`() throws {
        let events = Recorder.Events()
        let logger = Logger(label: "test") { _ in Recorder(events: events) }
        let incidents = IncidentLog(logger, period: .hours(1))
        let own = try #require(Self.own)
        func refuse(_ standing: Standing, _ number: UInt8) throws {
            let system = try #require(SystemID(bytes: [UInt8](repeating: number, count: 32)))
            let subject = Authorisation.Subject(
                PeerIdentity(standing, systemID: system, expiry: .distantFuture),
                application: "test.caller",
                own: own
            )
            AuditEvent(.refused(.notGranted), about: subject, .presence)
                .write(to: logger, limitedBy: incidents, of: subject)
        }
        func logged() -> [String] {
            events.all.withLock { $0.compactMap { $0["peer.standing"].map { "\($0)" } } }
        }
        let (linking, other) = (
            try #require(Self.account), try #require(AccountID(bytes: [UInt8](repeating: 9, count: 32)))
        )
        for _ in 0..<100 { for number: UInt8 in 10..<30 { try refuse(.linked(linking, Grants()), number) } }
        #expect(logged() == [String](repeating: "linked", count: 10))
        for number: UInt8 in 30..<130 { try refuse(.anonymous, number) }
        #expect(logged().dropFirst(10) == ArraySlice([String](repeating: "anonymous", count: 5)))
        // The first refusal of each other one is logged.
        for _ in 0..<10 {
            for number: UInt8 in 130..<133 { try refuse(.sameAccount(linking), number) }
            try refuse(.linked(other, Grants()), 140)
        }
        #expect(logged().dropFirst(15) == ["sameAccount", "sameAccount", "sameAccount", "linked"])
    }

    /// The callers of twenty systems of a linked account.
    private static func linkedCallers() throws -> [AppServiceCaller] {
        let account = try #require(Self.account)
        return try (10..<30 as Range<UInt8>).map { number in
            AppServiceCaller(
                systemID: try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))),
                standing: .linked(account, Grants()),
                isLocal: false,
                claimedApplicationID: "test.caller"
            )
        }
    }

    @Test func `the systems of a linked account are one origin in the log of incidents`() throws {
        let events = Recorder.Events()
        let incidents = IncidentLog(Logger(label: "test") { _ in Recorder(events: events) }, period: .hours(1))
        let own = AppServiceCaller(
            systemID: try #require(Self.system),
            standing: .sameAccount(try #require(Self.account)),
            isLocal: false,
            claimedApplicationID: "test.caller"
        )
        for caller in try Self.linkedCallers() + [own] {
            for incident in [Incident.launchLimit, .continuationLimit, .keyLimit, .requestLimit, .trustRejected] {
                incidents.report(incident, by: caller.systemID, of: caller.incidentHolder, reason: "\(incident)")
            }
        }
        let logged = events.all.withLock { events in
            events.map { event in
                let isOwn = event["system"].map { "\($0)" } == "\(own.systemID)"
                return "\(event["reason"].map { "\($0)" } ?? "") \(isOwn)"
            }
        }
        for incident in [Incident.launchLimit, .continuationLimit, .keyLimit, .requestLimit, .trustRejected] {
            #expect(logged.count { $0 == "\(incident) false" } == 3)
            #expect(logged.count { $0 == "\(incident) true" } == 1)
        }
    }

    @Test func `a summary of incidents names the account that has caused the most`() async throws {
        let events = Recorder.Events()
        let incidents = IncidentLog(Logger(label: "test") { _ in Recorder(events: events) }, period: .milliseconds(50))
        let callers = try Self.linkedCallers()
        try await until {
            for caller in callers {
                incidents.report(.launchLimit, by: caller.systemID, of: caller.incidentHolder, reason: "too many")
            }
            return events.all.withLock { $0.contains { $0["count"] != nil } }
        }
        let summary = try #require(events.all.withLock { $0.first { $0["count"] != nil } })
        #expect(summary["most.account"].map { "\($0)" } == Self.account.map { "\($0)" })
    }

    @Test func `activities that were refused to the systems of a linked account count as those of one`() throws {
        let events = Recorder.Events()
        let refusals = RefusalLog(Logger(label: "test") { _ in Recorder(events: events) })
        let account = try #require(Self.account)
        for _ in 0..<20 { refusals.report(by: .account(account), ["peer.system": "one"]) }
        refusals.report(by: .system(try #require(Self.system)), ["peer.system": "other"])
        let systems = events.all.withLock { $0.compactMap { $0["peer.system"].map { "\($0)" } } }
        #expect(systems == [String](repeating: "one", count: 10) + ["other"])
    }
}
