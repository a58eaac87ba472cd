// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The bounds that discovery keeps, whatever the network says.
public enum DiscoveryLimits {
    /// How many instances one browse knows at most. Further ones are refused, told by ``DiscoveryProblem/Code/tooManyHints``.
    public static let hints = 4096

    /// The most bytes of a TXT record, length bytes included. Above about 1 350 a record no longer fits an Ethernet frame, and
    /// Avahi announces a service that nobody can resolve without reporting any error.
    public static let propertyBytes = 1300

    /// How many key-value pairs of a TXT record are kept.
    package static let properties = 64

    /// How many endpoints of one hint are kept.
    package static let endpoints = 32
}
