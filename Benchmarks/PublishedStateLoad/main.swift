// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Measures the processor time of a publisher that sends updates of 256 bytes to subscribers over loopback TLS.
//
// Usage: `published-state-load [SECONDS] [SUBSCRIBERS] [UPDATES-PER-SECOND]`. Defaults to 10, 100 and 10. Prints one
// line of JSON.
//
// Publisher and subscribers share the process but no thread. The publisher uses the singleton event-loop group of the
// process, which has one event loop. The measured time is that of this thread and of the commits. The kernel's work for
// a packet on the loopback interface counts for the thread that sends it.

import Crypto
import Foundation
import Logging
import NIOCore
import NIOPosix
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import ValueSets

struct LoadError: Error, CustomStringConvertible {
    var description: String
}

let numbers = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
guard numbers.count <= 3, numbers.allSatisfy({ (1...10_000).contains($0) }) else {
    throw LoadError(description: "Usage: published-state-load [SECONDS] [SUBSCRIBERS] [UPDATES-PER-SECOND]")
}
let seconds = numbers.first ?? 10
let subscribers = numbers.dropFirst().first ?? 100
let rate = numbers.dropFirst(2).first ?? 10
NIOSingletons.groupLoopCountSuggestion = 1

let authority = try AccountAuthority(creatingAt: Date())

func system() throws -> TransportSecurity {
    let key = P256.Signing.PrivateKey()
    return try TransportSecurity(
        identity: SystemIdentity(
            rootCertificate: authority.rootCertificate,
            certificate: authority.issueCertificate(for: key.publicKey, now: Date()),
            systemKey: key,
            discoveryKey: DiscoveryKey(),
            isAuthority: false
        )
    )
}

let schema = TopicSchema(
    "org.example.load",
    priority: .presence,
    records: [.init("value/", fields: [.required("text", .string)])]
)
let publisher = StatePublisher()
let topic = try publisher.open(schema, for: .sameAccount)
/// Commits an update, which takes 256 bytes with its key and the record's overhead.
func commit(_ number: Int) throws {
    let text = String(repeating: "x", count: 220) + String(format: "%08d", number)
    try topic.commit(put: ["value/\(number % 10)": ["text": .string(text)]])
}
try commit(0)

let logger = Logger(label: "load") { _ in SwiftLogNoOpLogHandler() }
var limits = ConnectionLimits()
limits.helloTimeout = .seconds(30)
let listener = try await Listener.start(
    host: "127.0.0.1",
    port: 0,
    security: system(),
    limits: limits,
    logger: logger
) { [limits] hello, _ in
    .accept(
        EstablishedConnection(
            acceptance: Acceptance(application: "org.example.load", limits: limits.peerLimits),
            limits: limits,
            handler: { _, _ in .requestsNotTaken },
            opened: { $0.publish(publisher) }
        )
    )
}

let far = MultiThreadedEventLoopGroup(numberOfThreads: 1)
var connector = try Connector(security: system(), limits: limits, timeout: .seconds(30), logger: logger)
/// The number of changes that all subscribers together have applied, and the version of each subscriber.
let applied = Mutex((changes: 0, versions: [UInt64](repeating: 0, count: subscribers)))

try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 0..<subscribers {
        // The number of subscriptions per system is limited, so every 32 subscribers share another system.
        if number.isMultiple(of: 32) { connector.security = try system() }
        let connection = try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: listener.port)],
            expecting: nil,
            hello: Hello(
                service: "load",
                targetApplication: nil,
                application: "org.example.load",
                limits: limits.peerLimits
            ),
            on: far.next(),
            handler: { _, _ in .requestsNotTaken }
        )
        group.addTask {
            _ = try await StateSubscriber(schema).follow(over: connection) { change in
                applied.withLock { applied in
                    applied.changes += 1
                    applied.versions[number] = change.version
                }
            }
            connection.abort()
        }
    }
    func waitForAll() async throws {
        let version = topic.version
        for _ in 0..<3000 where !applied.withLock({ $0.versions.allSatisfy { $0 == version } }) {
            // Polling: resuming a continuation in each subscriber would affect the figures.
            try await Task.sleep(for: .milliseconds(10))
        }
        guard applied.withLock({ $0.versions.allSatisfy { $0 == version } }) else {
            throw LoadError(description: "Not every subscriber reached version \(version ?? 0).")
        }
    }
    try await waitForAll()

    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let (before, changesBefore) = (try await loop.submit { ThreadTime.current }.get(), applied.withLock { $0.changes })
    let start = ContinuousClock.now
    var committing = ThreadTime()
    for number in 1...(seconds * rate) {
        let begun = ThreadTime.current
        try commit(number)
        committing = committing + (ThreadTime.current - begun)
        // Relative to the start, so that a late update does not delay the others.
        try await Task.sleep(until: start + .seconds(number) / rate, clock: .continuous)
    }
    try await waitForAll()
    let used = try await loop.submit { ThreadTime.current }.get() - before + committing
    let took = Double((ContinuousClock.now - start) / .seconds(1))
    let delivered = applied.withLock { $0.changes } - changesBefore
    let share = String(format: "%.2f", 100 * used.total / took)
    let each = String(format: "%.1f", 1e6 * used.total / Double(max(delivered, 1)))
    let kernel = String(format: "%.1f", 1e6 * used.system / Double(max(delivered, 1)))
    let figures = [
        ("subscribers", "\(subscribers)"), ("updates_per_second", "\(rate)"), ("seconds", "\(seconds)"),
        ("delivered", "\(delivered)"), ("percent_of_a_core", share), ("microseconds_each", each),
        ("microseconds_each_in_the_kernel", kernel),
    ]
    print("{" + figures.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}")
    group.cancelAll()
}
await listener.stop()
try await far.shutdownGracefully()
