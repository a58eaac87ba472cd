// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names under which systems are advertised.
enum ServiceType {
    /// The DNS-SD service type. The label without its underscore has 14 bytes of the 15 that RFC 6335 §5.1 allows.
    static let name = "_remote-systems._tcp"

    static let labels = ["_remote-systems", "_tcp"]

    /// The only domain of multicast DNS (RFC 6762 §3).
    static let domain = "local"

    /// The time to live of all our records. In seconds: 120.
    ///
    /// RFC 6762 §10 recommends 120 s for records with a host name and 75 minutes for others. We use 120 s for all, so
    /// that a system that crashed is forgotten after two minutes.
    static let timeToLive: UInt32 = 120

    /// The number of records that one of our services takes in Avahi's cache for an interface and protocol: PTR, SRV,
    /// TXT and an address.
    static let recordsPerService = 4
}
