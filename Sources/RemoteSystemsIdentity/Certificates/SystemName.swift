// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name in a system's certificate: `remote-systems://<account id>/<system id>`. It is one URI in the subject
/// alternative name (RFC 5280 §4.2.1.6), and the only name there.
struct SystemName: Hashable {
    static let scheme = "remote-systems://"

    var account: AccountID
    var system: SystemID

    init(account: AccountID, system: SystemID) {
        self.account = account
        self.system = system
    }

    init?(uri: String) {
        guard uri.hasPrefix(Self.scheme) else { return nil }
        let parts = uri.dropFirst(Self.scheme.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2,
            let account = AccountID(String(parts[0])),
            let system = SystemID(String(parts[1]))
        else { return nil }
        self.init(account: account, system: system)
    }

    var uri: String { "\(Self.scheme)\(self.account)/\(self.system)" }
}
