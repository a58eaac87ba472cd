// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The limits of discovery, which apply to any input from the network.
public enum DiscoveryLimits {
    /// The maximum number of instances in one browse: 4096.
    ///
    /// Further instances are not reported. The browse then reports ``DiscoveryProblem/Code/tooManyHints``.
    public static let hints = 4096

    /// The maximum size of a TXT record in bytes, length bytes included: 1300.
    ///
    /// Above about 1350 bytes a record does not fit an Ethernet frame, and Avahi advertises a service that cannot be
    /// resolved, without reporting an error.
    public static let propertyBytes = 1300

    /// The maximum number of key-value pairs kept of a TXT record.
    package static let properties = 64

    /// The maximum number of endpoints kept of one hint.
    package static let endpoints = 32
}
