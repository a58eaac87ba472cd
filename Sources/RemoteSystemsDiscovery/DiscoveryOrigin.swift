// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Where the hints of a source come from. More cases may come: have a default case.
public enum DiscoveryOrigin: String, Sendable, Hashable {
    /// From the network, where anybody can announce anything. A hint is worth a connection only if the announcement
    /// carries the tag of this system's account, or if systems of other accounts are wanted.
    case announced
    /// From this machine's owner. Every hint is worth a connection.
    case configured
}
