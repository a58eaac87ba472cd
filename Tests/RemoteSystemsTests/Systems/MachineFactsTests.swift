// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystems

/// The facts about a machine come from the places where Linux keeps them.
@Suite struct MachineFactsTests {
    /// Reads the facts of a machine with these files.
    private static func facts(_ files: [String: String]) throws -> MachineFacts {
        let root = FileManager.default.temporaryDirectory.appending(path: "facts-\(UUID().uuidString)/")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        return MachineFacts.read(root: root.path(percentEncoded: false))
    }

    @Test func `name, kind, manufacturer and model are read (X-25, X-27)`() throws {
        let facts = try Self.facts([
            "etc/machine-info": "# ours\nPRETTY_HOSTNAME=\"Living Room\"\nCHASSIS=laptop\n",
            "sys/class/dmi/id/chassis_type": "3\n",
            "sys/class/dmi/id/sys_vendor": "ACME Corp. \n",
            "sys/class/dmi/id/product_name": "Anvil 3000\n",
        ])
        // The owner's settings take precedence over the manufacturer's.
        let expected = MachineFacts(
            displayName: "Living Room",
            kind: .laptop,
            manufacturer: "ACME Corp.",
            model: "Anvil 3000"
        )
        #expect(facts == expected)
    }

    @Test(arguments: [
        ("desktop", RemoteSystemKind.desktop), ("convertible", .laptop), ("tablet", .tablet), ("handset", .phone),
        ("server", .server), ("embedded", .iot), ("vm", .virtual), ("container", .virtual), ("spaceship", .unknown),
    ])
    func `the kind is that of machine-info(5)'s chassis (X-27)`(_ chassis: String, _ kind: RemoteSystemKind) throws {
        #expect(try Self.facts(["etc/machine-info": "CHASSIS=\(chassis)"]).kind == kind)
    }

    @Test(arguments: [
        (3, RemoteSystemKind.desktop), (9, .laptop), (10, .laptop), (11, .phone), (30, .tablet), (23, .server),
        (34, .iot), (1, .virtual), (2, .unknown), (99, .unknown), (-1, .unknown),
    ])
    func `without machine-info(5) the kind is that of the chassis number in SMBIOS (X-27)`(
        _ number: Int,
        _ kind: RemoteSystemKind
    ) throws {
        #expect(try Self.facts(["sys/class/dmi/id/chassis_type": "\(number)\n"]).kind == kind)
    }

    @Test func `a machine without these files has a name and nothing else`() throws {
        for files in [
            [:], ["etc/machine-info": "PRETTY_HOSTNAME=\"\"\nCHASSIS\n=x\n", "sys/class/dmi/id/sys_vendor": " \n"],
        ] {
            let facts = try Self.facts(files)
            #expect(!facts.displayName.isEmpty)
            #expect(facts.kind == .unknown)
            #expect(facts.manufacturer == nil)
            #expect(facts.model == nil)
        }
    }
}
