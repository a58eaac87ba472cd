// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// Which system a text means that a user gave (issue 10, section 1, item 5).
@Suite struct NameSearchTests {
    static func id(_ first: UInt8, _ last: UInt8 = 0) throws -> SystemID {
        try #require(SystemID(bytes: [first] + [UInt8](repeating: 7, count: 30) + [last]))
    }

    let atlas: SystemID
    let impostor: SystemID

    init() throws {
        self.atlas = try Self.id(1)
        self.impostor = try Self.id(2)
    }

    private func search(_ text: String, remembered: SystemID? = nil, known: [SystemID] = []) -> NameSearch {
        NameSearch(text, remembered: remembered, known: known)
    }

    @Test func `a new name means a system only when the enumeration is complete`() {
        var search = self.search("atlas")
        search.saw(self.atlas, named: "atlas")
        #expect(search.decision == .undecided)
        search.enumerationCompleted()
        #expect(search.decision == .system(self.atlas))
    }

    @Test func `a name of two systems is ambiguous, also if one of them comes and goes`() {
        var search = self.search("atlas")
        search.saw(self.impostor, named: "atlas")
        search.saw(self.atlas, named: "atlas")
        search.enumerationCompleted()
        #expect(search.decision == .ambiguous([self.atlas, self.impostor].sorted()))
        search.saw(self.impostor, named: "other")
        #expect(search.decision == .system(self.atlas))
    }

    @Test func `a remembered system is meant at once, whatever other systems are called`() {
        var search = self.search("atlas", remembered: self.atlas)
        search.saw(self.impostor, named: "atlas")
        #expect(search.decision == .undecided)
        search.saw(self.atlas, named: "atlas")
        #expect(search.decision == .system(self.atlas))
        search.enumerationCompleted()
        #expect(search.finalDecision == .system(self.atlas))
    }

    @Test func `another system with a remembered name is never meant`() {
        var search = self.search("atlas", remembered: self.atlas)
        search.saw(self.impostor, named: "atlas")
        search.enumerationCompleted()
        #expect(search.decision == .undecided)
        #expect(search.finalDecision == .changed(from: self.atlas, to: [self.impostor]))
        // Also while the remembered system has another name now.
        search.saw(self.atlas, named: "boreas")
        #expect(search.finalDecision == .changed(from: self.atlas, to: [self.impostor]))
    }

    @Test func `a remembered system that was renamed does not have the name any more`() {
        var search = self.search("atlas", remembered: self.atlas)
        search.saw(self.atlas, named: "boreas")
        search.enumerationCompleted()
        #expect(search.finalDecision == .undecided)
        #expect(search.name(of: self.atlas) == "boreas")
    }

    @Test func `an id means its system at once, even if another system is called by it`() {
        for text in [self.atlas.description, String(self.atlas.description.prefix(16))] {
            var search = self.search(text)
            search.saw(self.impostor, named: text)
            #expect(search.decision == .undecided)
            search.saw(self.atlas, named: "atlas")
            #expect(search.decision == .system(self.atlas))
            #expect(!search.isNamed(self.atlas))
        }
        var search = self.search(self.atlas.description)
        search.saw(self.impostor, named: self.atlas.description)
        search.enumerationCompleted()
        #expect(search.finalDecision == .undecided)
    }

    @Test func `a system called like the beginning of a known system's id is not meant`() {
        let prefix = self.atlas.short
        var search = self.search(prefix, known: [self.atlas])
        search.saw(self.impostor, named: prefix)
        search.enumerationCompleted()
        #expect(search.finalDecision == .ambiguous([self.atlas, self.impostor].sorted()))
        var alone = self.search(prefix, known: [self.atlas])
        alone.saw(self.atlas, named: "atlas")
        alone.enumerationCompleted()
        #expect(alone.decision == .system(self.atlas))
    }

    @Test func `three characters are only a name`() {
        var search = self.search(String(self.atlas.description.prefix(3)))
        search.saw(self.atlas, named: "atlas")
        search.enumerationCompleted()
        #expect(search.finalDecision == .undecided)
    }

    @Test func `prefixes of ids are long enough to distinguish them`() throws {
        let near = try Self.id(1, 255)
        let prefixes = SystemID.distinctPrefixes(of: [self.atlas, self.impostor, near])
        #expect(Set(prefixes.values).count == 3)
        #expect(prefixes[self.impostor]?.count == 8)
        for (id, prefix) in prefixes {
            #expect(prefixes.keys.filter { $0.description.hasPrefix(prefix) } == [id])
        }
    }
}
