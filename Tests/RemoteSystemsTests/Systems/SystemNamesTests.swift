// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// How the names of systems are shown to a user.
@Suite struct SystemNamesTests {
    private let laptop: SystemID
    private let impostor: SystemID

    init() throws {
        self.laptop = try NameSearchTests.id(1)
        self.impostor = try NameSearchTests.id(2)
    }

    private func shown(_ name: String, of system: SystemID, among others: [(String, SystemID)]) -> String {
        var names = SystemNames()
        names.add(name, of: system)
        for (name, system) in others { names.add(name, of: system) }
        return names.shown(name, of: system)
    }

    @Test func `a name that no other system has is shown alone`() {
        #expect(self.shown("laptop", of: self.laptop, among: []) == "laptop")
        let others = [("server", self.impostor), ("", self.impostor)]
        #expect(self.shown("laptop", of: self.laptop, among: others) == "laptop")
        // The same system may have had the name before.
        #expect(self.shown("Ada’s laptop", of: self.laptop, among: [("Ada’s laptop", self.laptop)]) == "Ada’s laptop")
        let long = String(repeating: "a", count: 40)
        #expect(self.shown(long, of: self.laptop, among: []) == long)
    }

    @Test(arguments: [
        "laptop", "Laptop", "LAPTOP ", "lap\u{200B}top", "laptop\u{3164}", "lap\u{034F}top", "\u{00A0}laptop",
        "laptop\u{FE0F}", "laptop\u{2800}",
    ])
    func `a name like that of another known system is shown with the beginning of the id`(name: String) {
        let others = [("laptop", self.laptop)]
        #expect(self.shown(name, of: self.impostor, among: others) == "\(name) (\(self.impostor.short))")
        let impostors = [(name, self.impostor)]
        #expect(self.shown("laptop", of: self.laptop, among: impostors) == "laptop (\(self.laptop.short))")
    }

    @Test func `no name can contain the id of another system, or be one`() {
        for name in ["laptop (\(self.laptop.short))", "laptop [\(self.laptop.short)]", "laptop （1）"] {
            #expect(self.shown(name, of: self.impostor, among: []).hasSuffix(" (\(self.impostor.short))"))
        }
        let short = self.laptop.short
        let others = [("", self.laptop)]
        #expect(self.shown(short, of: self.impostor, among: others) == "\(short) (\(self.impostor.short))")
    }

    @Test(arguments: ["This system", "this machine", "\u{3164}", "\u{2800}\u{2800}"])
    func `a name that stands for no system is shown with the beginning of the id`(name: String) {
        #expect(self.shown(name, of: self.impostor, among: []) == "\(name) (\(self.impostor.short))")
    }

    @Test func `the end of a long name is cut, and not the id`() {
        let long = String(repeating: "a", count: 41)
        let shown = self.shown(long, of: self.impostor, among: [])
        #expect(shown == String(repeating: "a", count: 31) + "… (\(self.impostor.short))")
        // A desktop shows 60 characters of a system's name.
        #expect(shown.count <= 60)
    }

    @Test func `ids that begin in the same way are shown up to where they differ`() throws {
        let other = try NameSearchTests.id(1, 9)
        let shown = self.shown("laptop", of: other, among: [("laptop", self.laptop)])
        #expect(shown != self.shown("laptop", of: self.laptop, among: [("laptop", other)]))
        #expect(shown.hasPrefix("laptop (\(self.laptop.short)"))
    }

    @Test func `the name of a system that is away, or that the user has named, is that of no other one`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "shown-names-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration(applicationID: "test", network: .loopback, stateDirectory: directory)
        )
        _ = try account.identity()
        func meet(_ system: SystemID, _ name: String) throws {
            try account.withStore { store throws(IdentityError) in
                store.noteAdmission(of: system, named: name, now: Date())
            }
        }
        #expect(try account.shownName(of: self.laptop) == nil)
        try meet(self.laptop, "laptop")
        try meet(self.impostor, "other")
        #expect(try account.shownName(of: self.laptop) == "laptop")
        #expect(try account.shownName(of: self.impostor) == "other")
        // A member renames itself.
        try meet(self.impostor, "Laptop")
        #expect(try account.shownName(of: self.impostor) == "Laptop (\(self.impostor.short))")
        #expect(try account.shownName(of: self.laptop) == "laptop (\(self.laptop.short))")
        // So does it with a name that the user has used for a system that has another one now.
        _ = try account.remember(self.laptop, named: "server")
        try meet(self.impostor, "server")
        #expect(try account.shownName(of: self.impostor) == "server (\(self.impostor.short))")
        #expect(try account.shownName(of: self.laptop) == "laptop")
        // And with that of this machine.
        let own = try #require(try account.systems().first?.name)
        try meet(self.impostor, own)
        #expect(try account.shownName(of: self.impostor)?.hasSuffix(" (\(self.impostor.short))") == true)
    }
}
