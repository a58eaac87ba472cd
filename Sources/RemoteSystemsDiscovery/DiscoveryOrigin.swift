// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The origin of a source's hints, which decides to which hints a system connects. Later versions may add cases: write
/// a default case.
public enum DiscoveryOrigin: String, Sendable, Hashable {
    /// The hints come from the network, where any machine can advertise anything. A system connects to a hint only if
    /// the advertisement carries the tag of its account, or if it also looks for systems of other accounts.
    case announced
    /// The hints come from this machine's owner. A system connects to every hint.
    case configured
}
