// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The limits for linked accounts: of their connections with a host, and of their processes that a browser follows.
///
/// A linked account can certify any number of systems, so each account has a limit. The limit in total keeps places and
/// open files for the own account.
enum LinkedLimits {
    static let total = 256
    static let perAccount = 64

    /// Counts what linked accounts use.
    static func limiter() -> KeyedLimiter<AccountID> { KeyedLimiter(total: Self.total, perKey: Self.perAccount) }
}
