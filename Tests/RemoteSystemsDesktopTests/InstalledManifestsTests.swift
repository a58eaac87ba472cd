// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsDesktop

/// The stamp that shows a change of installed manifests.
@Suite struct InstalledManifestsTests {
    @Test(arguments: [false, true], ["{ }", "[]"])
    func `a change is noticed, also behind a symbolic link and with the same time or size`(
        isLink: Bool,
        changed: String
    ) throws {
        try Self.inDirectory { directory in
            let installed = "\(directory)/installed/test.one.json"
            let file = isLink ? "\(directory)/test.one.json" : installed
            let time = Date(timeIntervalSince1970: 1_000_000)
            func write(_ text: String) throws {
                // Not atomically: the file keeps its number.
                try text.write(toFile: file, atomically: false, encoding: .utf8)
                try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)
            }
            try write("{}")
            if isLink { try FileManager.default.createSymbolicLink(atPath: installed, withDestinationPath: file) }
            let before = InstalledManifests.stamp(of: ["\(directory)/installed"])
            #expect(before == InstalledManifests.stamp(of: ["\(directory)/installed"]))
            try write(changed)
            #expect(before != InstalledManifests.stamp(of: ["\(directory)/installed"]))
        }
    }

    @Test func `a changed time of the file behind a symbolic link is noticed`() throws {
        try Self.inDirectory { directory in
            let file = "\(directory)/test.one.json"
            try "{}".write(toFile: file, atomically: false, encoding: .utf8)
            try FileManager.default.createSymbolicLink(
                atPath: "\(directory)/installed/test.one.json",
                withDestinationPath: file
            )
            let before = InstalledManifests.stamp(of: ["\(directory)/installed"])
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000)],
                ofItemAtPath: file
            )
            #expect(before != InstalledManifests.stamp(of: ["\(directory)/installed"]))
        }
    }

    /// Runs `body` with a temporary directory that contains the empty directory `installed`.
    private static func inDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "manifests-\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: "\(directory)/installed",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }
}
