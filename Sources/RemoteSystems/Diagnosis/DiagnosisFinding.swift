// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Something that a diagnosis looked at: how it is, why that matters, and what to do.
public struct DiagnosisFinding: Sendable, Hashable, Codable {
    /// What was looked at. Codes are stable; later versions may add some.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The code's name.
        public var rawValue: String
        /// A code with this name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's name.
        public var description: String { self.rawValue }

        /// The machine's clock.
        public static let clock = Code(rawValue: "clock")
        /// The account and this system's place in it.
        public static let account = Code(rawValue: "account")
        /// How long this system's certificate lives.
        public static let certificate = Code(rawValue: "certificate")
        /// The network interfaces that may be used.
        public static let interfaces = Code(rawValue: "interfaces")
        /// Whether they carry multicast.
        public static let multicast = Code(rawValue: "multicast")
        /// Which Avahi is used.
        public static let avahi = Code(rawValue: "avahi")
        /// Whether looking for systems works.
        public static let discovery = Code(rawValue: "discovery")
        /// Whether several programs answer mDNS on this machine.
        public static let responders = Code(rawValue: "responders")
        /// Whether the port can be listened on.
        public static let port = Code(rawValue: "port")
    }

    /// How bad it is.
    public enum Status: String, Sendable, Hashable, Codable {
        /// As it should be.
        case ok
        /// It works, or most of it, and will not for ever or not for everybody.
        case warning
        /// Something does not work.
        case problem
    }

    /// What was looked at.
    public var code: Code
    /// How bad it is.
    public var status: Status
    /// What was found.
    public var what: String
    /// Why it matters.
    public var why: String
    /// What to do; `nil` when there is nothing to do.
    public var advice: String?

    /// Creates a finding.
    public init(_ code: Code, _ status: Status, _ what: String, why: String, advice: String? = nil) {
        self.code = code
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }
}
