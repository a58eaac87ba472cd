// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// Programs on the bus, which the host daemon registers in its own process.
@Suite struct RepresentedProgramsTests {
    @Test func `a program on the bus is compared itself, and not the daemon that registers it (H-05, H-46)`()
        async throws
    {
        let data = FileManager.default.temporaryDirectory.appending(path: "data-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: data) }
        let place = "\(data)/remote-systems/applications"
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o755]
        try FileManager.default.createDirectory(
            atPath: place,
            withIntermediateDirectories: true,
            attributes: attributes
        )
        let id = "com.example.editor"
        let key = PublisherKey()
        let manifest = #"{"id": "\#(id)", "start": {"exec": ["/bin/sleep", "60"]}}"#
        try Data(ManifestSignature.signed(Array(manifest.utf8), by: key)).write(
            to: URL(filePath: "\(place)/\(id).json")
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(place)/\(id).json")
        let program = Process()
        program.executableURL = URL(filePath: "/bin/sleep")
        program.arguments = ["60"]
        try program.run()
        defer {
            program.terminate()
            // A `Process` is released only after this call.
            program.waitUntilExit()
        }

        let registry = ApplicationRegistry(environment: ["XDG_DATA_HOME": data, "XDG_DATA_DIRS": "/nowhere"])
        let own = ProgramProcess(pid: getpid())
        let publisher = key.chain.id
        #expect(await registry.publisher(of: id, process: own) == .unproven(publisher))
        let process = ProgramProcess(pid: program.processIdentifier)
        #expect(registry.represent(id, process))
        #expect(await registry.publisher(of: id, process: own) == .proven(publisher))
        // Another program cannot take its place, or be compared with it.
        #expect(!registry.represent(id, own))
        registry.endRepresenting(id)
        #expect(registry.represent(id, own))
        #expect(await registry.publisher(of: id, process: own) == .unproven(publisher))
        registry.endRepresenting(id)
    }
}
