// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// What sites have said about applications, until it expires. A value type without I/O; times are arguments.
///
/// An entry that has expired is never used: where the site cannot be asked again, the application is not approved.
package struct AssociationCache: Sendable, Hashable {
    /// What a site said about an application.
    package struct Entry: Sendable, Hashable, Codable {
        package var host: String
        /// The application as `publisher.application`.
        package var application: String
        /// The reason why it is not approved; `nil` if it is.
        package var failure: AssociationFailure?
        package var checked: Date
        package var expires: Date

        /// - Parameters:
        ///   - maxAge: the time for which the site permits to keep it; `nil` if it states none.
        ///   - now: the time at which the site said it.
        package init(
            host: String,
            application: String,
            failure: AssociationFailure?,
            maxAge: Duration? = nil,
            now: Date
        ) {
            self.host = host
            self.application = application
            self.failure = failure
            self.checked = now
            let (shortest, longest) = (AssociationCache.minApprovalLifetime, AssociationCache.approvalLifetime)
            let lifetime =
                failure == nil ? max(shortest, min(longest, maxAge ?? longest)) : AssociationCache.failureLifetime
            self.expires = now.addingTimeInterval(lifetime / .seconds(1))
        }
    }

    /// The time for which a site's approval is kept, unless the site states less.
    package static let approvalLifetime = Duration.seconds(24 * 3600)
    /// The minimum time for which an approval is kept.
    package static let minApprovalLifetime = Duration.seconds(300)
    /// The time for which a refusal or a failure is kept.
    package static let failureLifetime = Duration.seconds(300)
    /// The maximum number of entries. The ones that expire first give way.
    package static let maxEntries = 512

    package private(set) var entries: [Entry] = []

    package init() {}

    /// The entry of an application, if it is valid now.
    package func entry(_ application: String, on host: String, now: Date) -> Entry? {
        self.entries.first { $0.application == application && $0.host == host && Self.isValid($0, now: now) }
    }

    /// Adds what a site said. It replaces what the site said before about the application.
    package mutating func add(_ entry: Entry, now: Date) {
        self.entries.removeAll {
            ($0.application == entry.application && $0.host == entry.host) || !Self.isValid($0, now: now)
        }
        self.entries.append(entry)
        if self.entries.count > Self.maxEntries {
            self.entries.sort { $0.expires > $1.expires }
            self.entries.removeLast(self.entries.count - Self.maxEntries)
        }
    }

    /// Whether an entry may be used. One from the future was made with another clock, and one that lasts longer than
    /// any can was not made by this program.
    private static func isValid(_ entry: Entry, now: Date) -> Bool {
        entry.checked <= now && now < entry.expires
            && entry.expires.timeIntervalSince(entry.checked) <= Self.approvalLifetime / .seconds(1)
    }
}

// MARK: - The file

extension AssociationCache {
    private struct File: Codable { var entries: [Entry] }

    /// Reads the file. A damaged one counts as empty: the sites are asked again.
    package init(_ bytes: [UInt8]?) {
        guard let bytes, let file = try? JSONDecoder().decode(File.self, from: Data(bytes)) else { return }
        self.entries = Array(file.entries.prefix(Self.maxEntries))
    }

    package func encoded() -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? encoder.encode(File(entries: self.entries))).map { Array($0) }
    }
}
