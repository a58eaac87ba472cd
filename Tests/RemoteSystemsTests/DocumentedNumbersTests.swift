// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsDiscovery
import RemoteSystemsIdentity
import Testing
import UserActivities
import ValueSets

@testable import RemoteSystems
@testable import RemoteSystemsTransport

/// The numbers in the documents equal those in the code.
@Suite struct DocumentedNumbersTests {
    /// A line of a document, and the number that it must contain.
    struct Statement: CustomTestStringConvertible {
        let document: String
        /// Words that occur in this line only.
        let line: String
        let numbers: [String]

        init(_ document: String, _ line: String, _ numbers: String...) {
            (self.document, self.line, self.numbers) = (document, line, numbers)
        }

        var testDescription: String { "\(self.document): \(self.line)" }
    }

    // MARK: Number formats of the documents

    /// `10 000`
    static func number(_ count: Int) -> String {
        var digits = "\(count)"
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: " ")
    }

    /// `64 KiB`
    static func bytes(_ count: Int) -> String {
        if count >= 1 << 20, count.isMultiple(of: 1 << 20) { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count.isMultiple(of: 1 << 10) { return "\(count >> 10) KiB" }
        return "\(Self.number(count)) bytes"
    }

    /// `15 s`
    static func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }

    // MARK: The statements

    static let configuration = RemoteSystemsConfiguration(applicationID: "test")
    static let watching = RemoteSystemWatcher.Options()
    static let hosting = RemoteSystemHost.Options()
    static let memory = IdempotencyCacheStateMachine<Int>.Limits()
    static let connection = ConnectionLimits()
    static let anonymous = ConnectionLimits().forAnonymous
    typealias Watching = SystemBrowserStateMachine

    static let security = "security-model.md"

    static let messages: [Statement] = [
        Statement(
            security,
            "| hello |",
            bytes(ConnectionLimits.helloBytes),
            seconds(configuration.transport.helloTimeout)
        ),
        Statement(
            security,
            "| connections that have not been authenticated or",
            "\(UnauthenticatedSlots.maxConnections) places",
            "\(UnauthenticatedSlots.share) of one peer key",
            "\(UnauthenticatedSlots.maxKnownConnections) more places",
            "share of \(UnauthenticatedSlots.knownShare);",
            "\(UnauthenticatedSlots.Stage.silent.guaranteedTime / .seconds(1)) s",
            "\(UnauthenticatedSlots.Stage.speaking.guaranteedTime / .seconds(1)) s"
        ),
        Statement(security, "The host remembers", "\(number(KnownPeerKeys.maxKeys)) keys"),
        Statement(security, "| open connections of a host |", number(configuration.limits.connections)),
        Statement(
            security,
            "| message |",
            "\(bytes(connection.messageBytes)) unless set",
            bytes(ConnectionLimits.minMessageBytes),
            bytes(ConnectionLimits.maxMessageBytes)
        ),
        Statement(security, "| nesting of a message |", "\(ValueSetLimits.defaults.depth) levels"),
        Statement(security, "| keys of one dictionary |", number(ValueSetLimits.defaults.keysPerDictionary)),
        Statement(security, "| elements of arrays", number(ValueSetLimits.defaults.items)),
        Statement(security, "| text of a refusal", bytes(WireFailure.maxTextBytes)),
        Statement(
            security,
            "| requests in flight",
            "\(configuration.limits.concurrentRequests) unless set",
            bytes(connection.windowBytes)
        ),
        Statement(
            security,
            "| attributes of an application |",
            "\(SystemDescription.maxAttributes)",
            bytes(SystemDescription.maxTextBytes)
        ),
        Statement(
            security,
            "| what a process publishes about itself",
            "\(SystemDescription.maxServices) services",
            bytes(SystemDescription.maxTextBytes)
        ),
        Statement(security, "| key of a request", bytes(IdempotencyKey.maxBytes)),
        Statement(
            security,
            "| keys of requests that a host keeps |",
            "\(number(memory.keysEach)) of one system",
            "\(number(memory.keys)) in all",
            "\(memory.time.components.seconds / 60) minutes"
        ),
        Statement(
            security,
            "that a host remembers for requests with a key",
            "\(bytes(memory.bytesEach)) of one system",
            "\(bytes(memory.bytes)) in all",
            "\(bytes(memory.responseBytes)) each"
        ),
        Statement(
            security,
            "| requests with a key that are executing |",
            "\(memory.inFlightEach) of one system",
            "\(number(memory.inFlight)) in all"
        ),
        Statement(
            security,
            "| unfinished messages of a host |",
            "\(bytes(MemoryBudget.frameBytes)) in all",
            "a quarter",
            "of at most \(bytes(MemoryBudget.allowance)) do not count",
            "(\(bytes(MemoryBudget.allowanceOfFurther)) on all but \(MemoryBudget.connectionsEach) connections",
            "and \(number(MemoryBudget.connections)) in all)"
        ),
        Statement(
            security,
            "| requests of a host that wait or are being handled |",
            "\(bytes(MemoryBudget.requestBytes)) in all",
            "a quarter",
            "first \(bytes(MemoryBudget.allowance)) of each connection",
            "(\(bytes(MemoryBudget.allowanceOfFurther)) on all but \(MemoryBudget.connectionsEach) connections",
            "and \(number(MemoryBudget.connections)) in all)"
        ),
        Statement(
            security,
            "| messages of requests with a key that are executing",
            "\(bytes(memory.requestBytes)) in all",
            "a quarter"
        ),
        Statement(
            security,
            "| responses that a caller does not read |",
            "\(bytes(MemoryBudget.responseBytes)) in all",
            "a quarter",
            "first \(bytes(MemoryBudget.responseAllowance)) of each connection",
            "(\(bytes(MemoryBudget.responseAllowanceOfFurther)) and "
                + "\(bytes(MemoryBudget.responseAllowanceOfFurther / 2)) on all but \(MemoryBudget.connectionsEach)",
            "and \(number(MemoryBudget.connections)) in all)"
        ),
        Statement(
            security,
            "| unread bytes of a stream |",
            "\(bytes(StreamLimits().bufferedBytes)), plus one pass",
            "beyond \(MemoryBudget.streamsEach) of one system",
            "and \(MemoryBudget.streams) in all: \(bytes(MemoryBudget.streamBytesOfFurther)), plus as much"
        ),
        Statement(security, "| time for a message to arrive whole |", "30 s"),
        Statement(
            security,
            "| certificates that a process signs for other systems |",
            "\(number(RenewedCertificates.Limits().systems)) in all",
            "\(RenewedCertificates.Limits().time.components.seconds / 60) minutes"
        ),
        Statement(
            security,
            "| systems that a process asks for its own certificate",
            "\(CertificateRenewer.timeout.nanoseconds / 1_000_000_000) s each",
            "\(number(CertificateRenewer.maxWaiting)) in all",
            "at most \(CertificateRenewer.maxConnections) of its connections",
            "\(Int(CertificateRenewer.attempts)) times at once",
            "once in \(seconds(CertificateRenewer.pause))"
        ),
        Statement(
            security,
            "| silence of a peer |",
            "\(seconds(configuration.transport.deadPeerTime)) unless set (`transport.deadPeerTime`)",
            "\(seconds(watching.silenceTime)) unless set (`silenceTime`)"
        ),
    ]

    static let articles: [Statement] = [
        Statement(
            "../Sources/ValueSets/ValueSets.docc/WireProfile.md",
            "beyond the limits",
            "\(ValueSetLimits.defaults.depth) levels"
        ),
        Statement(
            "../Sources/ValueSets/ValueSets.docc/WireProfile.md",
            "elements and entries",
            "\(number(ValueSetLimits.defaults.keysPerDictionary)) keys",
            "\(number(ValueSetLimits.defaults.items)) elements",
            bytes(ValueSetLimits.defaults.bytes)
        ),
        Statement(
            "../Sources/RemoteSystems/RemoteSystems.docc/Talking.md",
            "| message size |",
            "| \(bytes(configuration.limits.messageBytes)), at most \(bytes(ConnectionLimits.maxMessageBytes)) |"
        ),
        Statement(
            "../Sources/RemoteSystems/RemoteSystems.docc/Talking.md",
            "| concurrent requests |",
            "| \(configuration.limits.concurrentRequests) |"
        ),
    ]

    static let launching: [Statement] = [
        Statement(
            security,
            "| a connection token that is read |",
            bytes(ConnectionToken.maxBytes),
            "\(ConnectionToken.maxEndpoints) addresses"
        ),
        Statement(
            security,
            "| launched URI; its scheme |",
            bytes(LaunchURI.maxBytes),
            bytes(LaunchURI.maxSchemeBytes)
        ),
        Statement(security, "| input data of a launch |", bytes(RemoteLauncher.maxInputBytes)),
        Statement(
            security,
            "| preferred applications of a launch |",
            "\(Launch.maxApplications)",
            bytes(Launch.maxApplicationIDBytes)
        ),
        Statement(
            security,
            "| launches under way |",
            "\(LaunchLimits.maxInFlight) in a host",
            "\(LaunchLimits.maxInFlightOfSystem) of one other system"
        ),
        Statement(
            security,
            "| launches of one other system |",
            "\(LaunchLimits.burst) at once",
            "at most \(seconds(LaunchLimits.maxWait))"
        ),
        Statement(
            "host-daemon.md",
            "Another system launches at most",
            "\(LaunchLimits.burst) URIs at once"
        ),
        Statement(
            "host-daemon.md",
            "that comes too early waits for its turn",
            "at most \(seconds(LaunchLimits.maxWait))"
        ),
        Statement(
            security,
            "| questions of one system that a person denied or ignored |",
            "\(QuestionPace.burst) at once",
            "one in \(seconds(QuestionPace.interval))"
        ),
        Statement(
            "host-daemon.md",
            "questions of one system that were denied or ignored",
            QuestionPace.burst == 3 ? "three questions" : "?",
            "every \(QuestionPace.interval.components.seconds) seconds"
        ),
        Statement("host-daemon.md", "launches of either are under way", "\(LaunchLimits.maxInFlightOfSystem) launches"),
        Statement(
            security,
            "| applications being started |",
            "\(ApplicationStarter.maxStarts) at the same time",
            "\(ApplicationStarter.maxStartsOfSystem) of them for one other system",
            seconds(hosting.startTimeout)
        ),
        Statement(
            security,
            "| callers that wait for a start |",
            "\(ApplicationStarter.maxWaiting)",
            "\(ApplicationStarter.maxWaitingOfSystem) of them of one other system"
        ),
        Statement(
            security,
            "| connecting back for a diagnosis",
            "\(DiagnosisService.maxConnections) at the same time"
        ),
        Statement(
            security,
            "| searching for announcements for a diagnosis |",
            "\(DiagnosisService.maxLookups) at once",
            "\(DiagnosisService.maxLookupsOfSystem) of them for one system"
        ),
        Statement(
            security,
            "| time of an application to continue an activity |",
            "| \(seconds(UserActivityHost.Options().continuationTimeout)),"
        ),
        Statement(security, "| after a failed start |", seconds(ApplicationStarter.pause)),
        Statement(
            "host-daemon.md",
            "starts run at a time",
            "\(ApplicationStarter.maxStarts) starts",
            "\(ApplicationStarter.maxWaiting) callers"
        ),
        Statement(
            "host-daemon.md",
            "Of these, one other system",
            "\(ApplicationStarter.maxStartsOfSystem) starts",
            "\(ApplicationStarter.maxWaitingOfSystem) callers"
        ),
        Statement("host-daemon.md", "| a connection of the SDK |", seconds(configuration.transport.startTimeout)),
        Statement("host-daemon.md", "| `port` |", "\(RemoteSystemHost.defaultPort)"),
        Statement(
            "host-daemon.md",
            "| `startTimeout` |",
            "| \(hosting.startTimeout.components.seconds) |",
            "from 0.1 to 300"
        ),
        Statement("command-line.md", "the port of `serve`", "\(RemoteSystemHost.defaultPort)"),
    ]

    static let trust: [Statement] = [
        Statement(
            security,
            "| connections of systems of other accounts",
            "\(AnonymousConnections.maxConnections)",
            "\(AnonymousConnections.maxPerSystem) of one system",
            "\(AnonymousConnections.maxPerPeer) of one"
        ),
        Statement(
            security,
            "| connections of systems of linked accounts",
            "| \(LinkedLimits.total), and",
            "\(LinkedLimits.perAccount) of one account",
            "\(LinkedConnections.maxPerSystem) of one system"
        ),
        Statement(
            security,
            "| processes of linked accounts that a watcher follows",
            "| \(LinkedLimits.total), and",
            "\(LinkedLimits.perAccount) of one account"
        ),
        Statement(
            security,
            "| exhausts the host |",
            "\(AnonymousConnections.maxConnections) connections",
            bytes(anonymous.messageBytes),
            "\(anonymous.window) requests"
        ),
        Statement(
            security,
            "| makes a watcher connect often",
            "\(Watching.maxAnonymous) processes",
            Watching.maxAnonymousAttempts == 3 ? "three attempts" : "?"
        ),
        Statement(security, "| invitation |", "\(Int(Invitation.life) / 60) minutes"),
        Statement(
            security,
            "| certificate of a system |",
            "\(Int(CertificateLife.system) / 86_400) days",
            "\(Int(CertificateLife.renewalWindow) / 86_400) days"
        ),
        Statement(
            security,
            "; the list that names them",
            number(RevocationList.maxSystems),
            bytes(RevocationList.maxBytes)
        ),
        Statement(
            security,
            "that wait for the account's files |",
            "\(AccountQueue.maxOfPeers) in all",
            "\(AccountQueue.maxOfPeer) of one system"
        ),
        Statement(
            security,
            "| announcements known to one browse |",
            number(DiscoveryLimits.hints),
            "\(DiscoveryLimits.endpoints) addresses"
        ),
        Statement(
            security,
            "| properties of an announcement |",
            bytes(DiscoveryLimits.propertyBytes),
            "\(DiscoveryLimits.properties) pairs"
        ),
    ]

    @Test(arguments: messages + articles + launching + trust)
    func `a document states the number that the code has`(_ statement: Statement) throws {
        let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = try String(contentsOf: root.appending(path: "Docs/\(statement.document)"), encoding: .utf8)
        let lines = text.split(separator: "\n").filter { $0.contains(statement.line) }
        #expect(lines.count == 1, "Docs/\(statement.document) has \(lines.count) lines with this")
        for number in statement.numbers {
            #expect(lines.first?.contains(number) == true, "'\(number)' is not in: \(lines.first ?? "")")
        }
    }

    @Test func `the transport's default limits are those of the public configuration`() {
        #expect(ConnectionLimits(Self.configuration) == Self.connection)
    }

    @Test func `numbers are formatted as in the documents`() {
        #expect([7, 1024, 16_384, 1_000_000].map(Self.number) == ["7", "1 024", "16 384", "1 000 000"])
        #expect([72, 1300, 8192, 16 << 20].map(Self.bytes) == ["72 bytes", "1 300 bytes", "8 KiB", "16 MiB"])
    }
}
