// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity

/// The certificates that this process signed lately for other systems, so that it signs few.
///
/// A system that asks again while its certificate is kept gets the same one. A value type without I/O.
struct RenewedCertificates {
    typealias Instant = ContinuousClock.Instant

    struct Limits {
        /// The time for which a certificate is kept.
        var time = Duration.seconds(600)
        /// The maximum number of systems whose certificate is signed in that time.
        var systems = 1_024
    }

    /// What to do with a request.
    enum OnRequest: Equatable {
        case sign
        /// Respond with this certificate.
        case respond([UInt8])
        /// As many certificates were signed as permitted.
        case refuse
    }

    private struct Entry {
        var certificate: [UInt8]
        var roots: Int
        var end: Instant
    }

    private let limits: Limits
    private var entries: [SystemID: Entry] = [:]
    /// The ends of the entries, earliest first. An end is void if its entry was replaced.
    private var ends = CircularBuffer<(system: SystemID, time: Instant)>()

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// The number of kept certificates.
    var count: Int { self.entries.count }

    /// Decides on a system's request.
    ///
    /// - Parameter roots: the number of the account's root keys. A certificate that an older root key signed is not
    ///   given again.
    mutating func requested(by system: SystemID, roots: Int, now: Instant) -> OnRequest {
        while let end = self.ends.first, end.time <= now {
            self.ends.removeFirst()
            if self.entries[end.system]?.end == end.time { self.entries[end.system] = nil }
        }
        if let entry = self.entries[system], entry.roots == roots { return .respond(entry.certificate) }
        return self.ends.count < self.limits.systems ? .sign : .refuse
    }

    /// Records a signed certificate.
    mutating func signed(_ certificate: [UInt8], for system: SystemID, roots: Int, now: Instant) {
        let end = now.advanced(by: self.limits.time)
        self.entries[system] = Entry(certificate: certificate, roots: roots, end: end)
        self.ends.append((system, end))
    }
}
