// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Chooses the advertisements without the account's present tag that are tried nevertheless, to exchange discovery
/// keys, or to learn that a linked account has withdrawn its link.
///
/// A system that was off while the discovery key was replaced advertises the former tag, and does not recognise the new
/// one. Remembered endpoints and configured peers usually lead to another system, from which it gets the new key. Where
/// they do not, one attempt every few seconds does.
///
/// A revoked system knows the former key, and any device can advertise unknown tags. Neither gains more than these
/// attempts: an entry causes a few of them, all entries share one interval, and the places are few.
///
/// A value type without I/O and without a clock.
struct UnrecognisedHints {
    typealias Instant = ContinuousClock.Instant

    enum Kind: Hashable, Sendable {
        /// The tag is of a discovery key that the account had before.
        case former
        /// The tag is of another account, or of a discovery key that this system does not know yet. Tried only where
        /// this system may be the one that missed a key, or where a linked account may have withdrawn its link: see
        /// ``SystemBrowser/triesUnknownTags``.
        case unknown
    }

    struct Candidate: Hashable, Sendable {
        var name: String
        var endpoints: [Endpoint]
    }

    private struct Entry {
        var endpoints: [Endpoint]
        var attempts = 0
        var next: Instant
    }

    /// The maximum number of entries of each kind.
    static func maxEntries(_ kind: Kind) -> Int { kind == .former ? 32 : 16 }
    /// The maximum number of attempts for an entry.
    static func maxAttempts(_ kind: Kind) -> Int { kind == .former ? 3 : 1 }
    /// The time between two attempts, whatever they are for.
    static let interval = Duration.seconds(5)
    /// The time before the first attempt for an entry: systems that are recognised come first.
    static let firstWait = Duration.seconds(1)
    /// The time between two attempts for the same entry.
    static let again = Duration.seconds(300)

    private var entries: [Kind: [String: Entry]] = [:]
    /// The time of the last attempt.
    private var last: Instant?

    /// Records an advertisement.
    ///
    /// - Returns: whether ``next(now:includingUnknown:)`` may return something later.
    mutating func seen(_ name: String, at endpoints: [Endpoint], _ kind: Kind, now: Instant) -> Bool {
        let other: Kind = kind == .former ? .unknown : .former
        self.entries[other]?[name] = nil
        var entries = self.entries[kind] ?? [:]
        if entries[name] != nil {
            entries[name]?.endpoints = endpoints
        } else {
            guard !endpoints.isEmpty else { return false }
            if entries.count >= Self.maxEntries(kind) {
                // One that was tried in vain must not keep its place: another device announces it for as long as it
                // likes.
                let used = entries.filter { $0.value.attempts >= Self.maxAttempts(kind) }.keys
                guard let old = used.randomElement() else { return false }
                entries[old] = nil
            }
            entries[name] = Entry(endpoints: endpoints, next: now + Self.firstWait)
        }
        self.entries[kind] = entries
        return true
    }

    /// Removes an advertisement that is gone, or that carries the present tag now.
    mutating func remove(_ name: String) {
        for kind in self.entries.keys { self.entries[kind]?[name] = nil }
    }

    /// Removes all advertisements, because the discovery key has changed.
    mutating func removeAll() { self.entries = [:] }

    /// Returns the advertisement to try now, and counts the attempt.
    ///
    /// Among those with the fewest attempts, the choice is random: a device that advertises several, with names of its
    /// choice, must not always come first.
    ///
    /// - Parameter includingUnknown: whether advertisements with unknown tags are tried, too.
    mutating func next(now: Instant, includingUnknown: Bool) -> Candidate? {
        var generator = SystemRandomNumberGenerator()
        return self.next(now: now, includingUnknown: includingUnknown, using: &generator)
    }

    mutating func next(
        now: Instant,
        includingUnknown: Bool,
        using generator: inout some RandomNumberGenerator
    ) -> Candidate? {
        guard self.last.map({ $0 + Self.interval <= now }) ?? true else { return nil }
        for kind in includingUnknown ? [Kind.former, .unknown] : [.former] {
            let due = self.open(kind).filter { $0.value.next <= now }
            let fewest = due.values.map(\.attempts).min()
            let names = due.filter { $0.value.attempts == fewest }.keys.sorted()
            guard let name = names.randomElement(using: &generator), let entry = due[name] else { continue }
            self.entries[kind]?[name]?.attempts += 1
            self.entries[kind]?[name]?.next = now + Self.again
            self.last = now
            return Candidate(name: name, endpoints: entry.endpoints)
        }
        return nil
    }

    /// The time of the next attempt; `nil` if there is none.
    func nextTime(includingUnknown: Bool) -> Instant? {
        let times = (includingUnknown ? [Kind.former, .unknown] : [.former]).flatMap {
            self.open($0).values.map(\.next)
        }
        guard let time = times.min() else { return nil }
        return self.last.map { max(time, $0 + Self.interval) } ?? time
    }

    private func open(_ kind: Kind) -> [String: Entry] {
        (self.entries[kind] ?? [:]).filter { $0.value.attempts < Self.maxAttempts(kind) }
    }
}
