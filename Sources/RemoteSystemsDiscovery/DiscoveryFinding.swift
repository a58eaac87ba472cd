// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A finding of a discovery source about itself, for a diagnosis.
public struct DiscoveryFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Status: String, Sendable, Hashable {
        /// As it should be.
        case ok
        /// Works now, but is close to a limit or does not work everywhere.
        case warning
        /// Something does not work.
        case problem
    }

    /// The subject, in lower case with hyphens, such as `avahi-limits`. Stable between versions, for programs.
    public var code: String
    /// The severity.
    public var status: Status
    /// What was found, as a sentence.
    public var what: String
    /// Why it matters, as a sentence.
    public var why: String
    /// What to do, as a sentence; `nil` if there is nothing to do.
    public var advice: String?

    /// Creates a finding.
    public init(_ code: String, _ status: Status, _ what: String, why: String, advice: String? = nil) {
        self.code = code
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }
}
