// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names under which systems are announced.
enum ServiceType {
    /// The DNS-SD service type. The label without its underscore has 14 bytes of the 15 that RFC 6335 §5.1 allows.
    static let name = "_remote-systems._tcp"

    /// The labels of ``name``.
    static let labels = ["_remote-systems", "_tcp"]

    /// The only domain of multicast DNS (RFC 6762 §3).
    static let domain = "local"

    /// How long others may remember each of our records, in seconds: what RFC 6762 §10 recommends for records with a host name,
    /// here for all, so that what crashed is forgotten after two minutes and not after 75.
    static let timeToLive: UInt32 = 120
}
