// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Who may call an app service.
public enum AppServiceCallers: Sendable, Hashable {
    /// The same application on another system.
    case sameApplication
    /// Applications with these ids.
    case applications([String])
    /// Every application of the account.
    case account
    /// Anybody nearby, of whatever account.
    case anyoneNearby
}
