// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The built-in app service over which systems exchange their descriptions.
enum Presence {
    static let service = "remote-systems.presence"
}

/// The properties of a host's advertisement (its TXT record). The instance name is random.
extension Presence {
    /// The version of the protocol.
    static let versionProperty = "v"
    static let version = "1"
    /// A tag that only systems of the account can verify.
    static let tagProperty = "t"
    /// The key of a property that is `1` if systems of other accounts may connect.
    static let anonymousProperty = "a"
}
