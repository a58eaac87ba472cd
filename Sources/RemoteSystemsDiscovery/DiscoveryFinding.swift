// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Something that a discovery source reports of itself to a diagnosis.
public struct DiscoveryFinding: Sendable, Hashable {
    /// How bad it is.
    public enum Status: String, Sendable, Hashable {
        /// As it should be.
        case ok
        /// It works now, but is close to a limit or does not work everywhere.
        case warning
        /// Something does not work.
        case problem
    }

    /// What was looked at, in lower case with hyphens: `avahi-limits`. Stable between versions, for programs.
    public var code: String
    /// How bad it is.
    public var status: Status
    /// What was found, in a sentence.
    public var what: String
    /// Why it matters, in a sentence.
    public var why: String
    /// What to do, in a sentence; `nil` when there is nothing to do.
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
