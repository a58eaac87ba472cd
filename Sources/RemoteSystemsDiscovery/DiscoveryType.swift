// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a system counts as found. More cases may come: have a default case.
public enum DiscoveryType: String, Sendable, Hashable {
    /// On the same network.
    case proximal
    /// Beyond the same network: by an address that was configured, or through a relay.
    case cloud
}
