// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Where the hints of a source come from. More cases may be added: have a default case.
public enum DiscoveryOrigin: String, Sendable, Hashable {
    /// From the network, where any machine can advertise anything. A system connects to a hint only if the
    /// advertisement carries the tag of its account, or if it also looks for systems of other accounts.
    case announced
    /// From this machine's owner. A system connects to every hint.
    case configured
}
