// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What the account trusts at one time, for feature modules that keep what other systems have sent.
package struct FeatureTrust: Sendable {
    private let trust: TrustStore?

    /// Reads the present trust.
    package init(_ configuration: RemoteSystemsConfiguration) {
        self.trust = try? AccountContexts.shared.context(for: configuration).security().trust
    }

    /// Whether a system that was authenticated earlier is still trusted. Also if the account cannot be read: what the
    /// system has sent is not lost then.
    ///
    /// - Parameter account: the linked account of the system; `nil` for the own account.
    package func isTrusted(_ system: SystemID, ofLinked account: AccountID?) -> Bool {
        self.trust?.isTrusted(system, ofLinked: account) ?? true
    }
}
