// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

@Suite struct AdmissionGateTests {
    private var gate = AdmissionGate(total: 4, perAddress: 2)

    @Test mutating func `one address gets its share and no more`() {
        #expect(self.gate.enter("a") == true)
        #expect(self.gate.enter("a") == true)
        #expect(self.gate.enter("a") == false)
        #expect(self.gate.enter("b") == true)
    }

    @Test mutating func `all addresses together get no more than the total`() {
        for address in ["a", "a", "b", "b"] { #expect(self.gate.enter(address) == true) }
        #expect(self.gate.enter("c") == false)
    }

    @Test mutating func `whoever leaves makes room`() {
        for address in ["a", "a", "b", "b"] { _ = self.gate.enter(address) }
        self.gate.leave("a")
        #expect(self.gate.enter("c") == true)
        #expect(self.gate.enter("a") == false)
    }

    @Test mutating func `leaving without having entered makes no room`() {
        for address in ["a", "a", "b", "b"] { _ = self.gate.enter(address) }
        self.gate.leave("c")
        #expect(self.gate.enter("c") == false)
    }

    @Test mutating func `what was refused holds no place`() {
        _ = self.gate.enter("a")
        _ = self.gate.enter("a")
        for _ in 0..<10 { _ = self.gate.enter("a") }
        self.gate.leave("a")
        #expect(self.gate.enter("a") == true)
    }
}
