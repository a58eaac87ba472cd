// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The activities that are offered, for a user who asked for one that is not.
package enum OfferedActivities {
    /// The maximum number of activities that are listed. A system can offer more than a user reads.
    private static let maxListed = 16

    /// Asks for the most similar type, and lists what is offered. Begins with a space; empty if nothing is offered.
    ///
    /// - Parameter wanted: The beginning of an id, or a type; `nil` for any activity.
    package static func hint(for wanted: String?, offers: [(type: String, system: String)]) -> String {
        let question = wanted.map { SimilarNames.question(for: $0, among: offers.map { $0.type }) } ?? ""
        let all = Set(offers.map { "\($0.type) on \($0.system)" }).sorted()
        guard !all.isEmpty else { return "" }
        let rest = all.count > Self.maxListed ? " and \(all.count - Self.maxListed) more" : ""
        return "\(question) Offered are: \(all.prefix(Self.maxListed).joined(separator: ", "))\(rest)."
    }
}
