// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The way in which a system was found. Later versions may add cases: write a default case.
public enum DiscoveryType: String, Sendable, Hashable {
    /// On the same network.
    case proximal
    /// Beyond the same network: by a configured address, or through a relay.
    case cloud
}
