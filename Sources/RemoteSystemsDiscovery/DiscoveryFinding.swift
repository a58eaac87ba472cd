// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One result of the checks that a discovery source runs for a diagnosis.
public struct DiscoveryFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Status: String, Sendable, Hashable {
        /// The subject works as it should.
        case ok
        /// The subject works now, but is close to a limit or does not work everywhere.
        case warning
        /// The subject does not work.
        case problem
    }

    /// The subject of the finding, in lower case with hyphens, such as `avahi-limits`. Stable between versions, for
    /// programs.
    public var code: String
    /// The severity of the finding.
    public var status: Status
    /// The description of what was found, as a sentence.
    public var what: String
    /// The reason why the finding matters, as a sentence.
    public var why: String
    /// The advice for a person, as a sentence; `nil` if there is nothing to do.
    public var advice: String?

    /// Creates a finding.
    ///
    /// - Parameters:
    ///   - code: The subject, in lower case with hyphens.
    ///   - status: The severity.
    ///   - what: What was found, as a sentence.
    ///   - why: Why it matters, as a sentence.
    ///   - advice: What to do, as a sentence. Defaults to `nil`: there is nothing to do.
    public init(_ code: String, _ status: Status, _ what: String, why: String, advice: String? = nil) {
        self.code = code
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }
}
