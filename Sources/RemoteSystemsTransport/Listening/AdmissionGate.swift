// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Bounds how many connections may be at the stage where nobody knows yet who they are.
///
/// Without it, whoever can reach the port could hold any number of half-open connections (CVE-2020-26164 and its kin).
/// Connections beyond the bound are closed at once; those that are open already are not touched. A connection is at that
/// stage from TCP's accept until it is open, or until its hello's time is over (1 s unless set): at the defaults 128 of them in
/// all and 32 from one address, so a single address cannot keep others out, and what waits there holds a few hundred KiB
/// at most. `Docs/wire-protocol.md`, section 3, tells callers; `Docs/security-model.md` lists it among the limits.
struct AdmissionGate {
    private let total: Int
    private let perAddress: Int
    private var count = 0
    private var byAddress: [String: Int] = [:]

    /// - Parameters:
    ///   - total: how many connections of all addresses together; a listener has one gate.
    ///   - perAddress: how many of one IP address, whatever its ports.
    init(total: Int = 128, perAddress: Int = 32) {
        self.total = total
        self.perAddress = perAddress
    }

    mutating func enter(_ address: String) -> Bool {
        guard self.count < self.total, self.byAddress[address, default: 0] < self.perAddress else { return false }
        self.count += 1
        self.byAddress[address, default: 0] += 1
        return true
    }

    mutating func leave(_ address: String) {
        guard let here = self.byAddress[address] else { return }
        self.count -= 1
        self.byAddress[address] = here > 1 ? here - 1 : nil
    }
}
