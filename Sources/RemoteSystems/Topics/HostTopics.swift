// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The topics of applications that a host publishes: those of its own application, and, on the host daemon, those of
/// the registered programs.
final class HostTopics: Sendable {
    /// The origin of records: the host's own application, a registered program, or an installed application.
    enum Source: Hashable, Comparable {
        case own
        case program(ProgramRegistry.Number)
        case installed(application: String)
    }

    /// The records of one application in one topic.
    struct Contribution: Hashable {
        let application: String
        /// Whether other systems cannot reach the application.
        let isOnLoopback: Bool
        var records: [String: ValueSet]
    }

    /// The maximum number of topics, of all applications together. Another application's topic is not published.
    static let maxTopics = 32

    private struct State {
        var contributions: [String: [Source: Contribution]] = [:]
        var publications: HostPublications?
        /// The topics that were too large at their last change. Logged once each.
        var outgrown: Set<String> = []
    }

    private let own: [ApplicationTopic]
    private let application: String
    private let logger: Logger
    private let state = Mutex(State())

    init(_ own: [ApplicationTopic], of application: String, logger: Logger) {
        self.own = own
        self.application = application
        self.logger = logger
    }

    /// Publishes the own topics from now on, and every change.
    func begin(_ publications: HostPublications) {
        self.state.withLock { $0.publications = publications }
        for topic in self.own {
            topic.publish { records in
                let contribution = Contribution(application: self.application, isOnLoopback: false, records: records)
                self.update(topic.name, from: .own, contribution)
            }
        }
    }

    /// Publishes nothing more.
    func end() {
        for topic in self.own { topic.publish(nil) }
        self.state.withLock { $0 = State() }
    }

    /// The names of the own application's topics.
    var ownNames: [String] { self.own.map(\.name) }

    /// The names of the topics that are published now, in alphabetical order.
    var names: [String] { self.state.withLock { $0.contributions.keys.sorted() } }

    /// Replaces the records of one application; `nil` if it has stopped publishing the topic.
    func update(_ topic: String, from source: Source, _ contribution: Contribution?) {
        self.state.withLock { state in
            guard state.contributions[topic] != nil || state.contributions.count < Self.maxTopics else { return }
            state.contributions[topic, default: [:]][source] = contribution
            if state.contributions[topic]?.isEmpty ?? false { state.contributions[topic] = nil }
            self.publish(topic, &state)
        }
    }

    /// Replaces the records of all installed applications.
    func update(installed: [InstalledApplication]) {
        self.state.withLock { state in
            var contributions: [String: [Source: Contribution]] = [:]
            for application in installed {
                for (topic, records) in application.topics {
                    contributions[topic, default: [:]][.installed(application: application.id)] =
                        Contribution(application: application.id, isOnLoopback: false, records: records)
                }
            }
            for topic in Set(state.contributions.keys).union(contributions.keys).sorted() {
                let before = state.contributions[topic] ?? [:]
                var after = before.filter { source, _ in
                    if case .installed = source { false } else { true }
                }
                after.merge(contributions[topic] ?? [:]) { $1 }
                guard after != before, !before.isEmpty || state.contributions.count < Self.maxTopics else { continue }
                state.contributions[topic] = after.isEmpty ? nil : after
                self.publish(topic, &state)
            }
        }
    }

    /// Publishes all topics again, after groups of peers were added or rights changed.
    func publishAll() {
        self.state.withLock { state in
            for topic in state.contributions.keys { self.publish(topic, &state) }
        }
    }

    /// Inside the lock, so that changes are published in their order.
    private func publish(_ topic: String, _ state: inout State) {
        guard let publications = state.publications else { return }
        let sources = state.contributions[topic] ?? [:]
        let running = Set(
            sources.compactMap { source, contribution -> String? in
                if case .installed = source { nil } else { contribution.application }
            }
        )
        let contributions = sources.sorted { $0.key < $1.key }.compactMap { source, contribution -> Contribution? in
            if case .installed(let application) = source, running.contains(application) { nil } else { contribution }
        }
        let isOpen = !contributions.isEmpty
        do {
            var isWhole = true
            try publications.update(topic: topic, isOpen: isOpen) { group in
                let (records, isComplete) = Self.records(of: contributions, forLocal: group == .local)
                isWhole = isWhole && isComplete
                return records
            }
            if isWhole {
                state.outgrown.remove(topic)
            } else if state.outgrown.insert(topic).inserted {
                self.logger.warning(
                    "The applications of this machine publish more than a topic holds; the newest ones are left out",
                    metadata: ["topic": "\(topic)", "limit": "\(StateLimits.topicBytes) bytes"]
                )
            }
        } catch {
            self.logger.warning(
                "A topic of an application could not be published",
                metadata: ["topic": "\(topic)", "reason": "\(error)"]
            )
        }
    }

    /// Returns the records of all applications, and whether they fit into a topic. An application whose records do not
    /// fit is left out.
    private static func records(
        of contributions: [Contribution],
        forLocal isLocal: Bool
    ) -> (records: [StateKey: ValueSet], isComplete: Bool) {
        var all: [StateKey: ValueSet] = [:]
        var bytes = 0
        var isComplete = true
        for contribution in contributions where isLocal || !contribution.isOnLoopback {
            var records: [StateKey: ValueSet] = [:]
            var length = 0
            for (key, record) in contribution.records {
                let key = ApplicationRecordKey(application: contribution.application, key: key).stateKey
                let limits = ValueSetLimits(depth: StateLimits.recordDepth)
                length += key.text.utf8.count + ((try? record.encodedSize(limits: limits)) ?? StateLimits.topicBytes)
                records[key] = record
            }
            guard bytes + length <= StateLimits.topicBytes, all.count + records.count <= StateLimits.topicRecords,
                records.keys.allSatisfy(\.isValid)
            else {
                isComplete = false
                continue
            }
            all.merge(records) { $1 }
            bytes += length
        }
        return (all, isComplete)
    }
}
