// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

@testable import UserActivities

/// The user's settings, in a state directory of their own.
@Suite struct HandOffSettingsTests {
    private func with(_ body: (RemoteSystemsConfiguration, String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(
            RemoteSystemsConfiguration(applicationID: "com.example.test", stateDirectory: directory),
            "\(directory)/hand-off.json"
        )
    }

    @Test func `everything is permitted until the user restricts it (X-14)`() throws {
        try self.with { configuration, path in
            #expect(try HandOffSettings.read(configuration) == HandOffSettings())
            try HandOffSettings.change(configuration) {
                $0.everything.sending = false
                $0.applications["com.example.editor"] = HandOffSettings.Permission(receiving: false)
                $0.applications["com.example.other"] = HandOffSettings.Permission()
            }
            let settings = try HandOffSettings.read(configuration)
            #expect(settings.applications.keys.sorted() == ["com.example.editor"])
            #expect(
                settings.permission(of: "com.example.editor")
                    == HandOffSettings.Permission(sending: false, receiving: false)
            )
            #expect(settings.permission(of: "com.example.other") == HandOffSettings.Permission(sending: false))
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `keys of a later version are ignored, and a damaged file is an error that permits nothing`() throws {
        try self.with { configuration, path in
            try HandOffSettings.change(configuration) { $0.everything.receiving = false }
            try #"{"everything": {"sending": false, "later": 1}, "further": []}"#
                .write(toFile: path, atomically: false, encoding: .utf8)
            #expect(try HandOffSettings.read(configuration).everything == HandOffSettings.Permission(sending: false))
            try "{".write(toFile: path, atomically: false, encoding: .utf8)
            let error = try #require(throws: RemoteSystemError.self) { try HandOffSettings.read(configuration) }
            #expect(error.code == .identity && error.message.contains(path))
            // It is not replaced either: the user decides.
            #expect(throws: RemoteSystemError.self) { try HandOffSettings.change(configuration) { _ in } }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "{")
            #expect(
                HandOffPermissions(configuration, UserActivityHost.Options()).now
                    == HandOffSettings.Permission(sending: false, receiving: false)
            )
        }
    }

    @Test func `an invalid application and too many are refused, and nothing is changed`() throws {
        try self.with { configuration, _ in
            for ids in [[""], (0...HandOffSettings.maxApplications).map { "com.example.\($0)" }] {
                let error = try #require(throws: RemoteSystemError.self) {
                    try HandOffSettings.change(configuration) { settings in
                        for id in ids { settings.applications[id] = HandOffSettings.Permission(sending: false) }
                    }
                }
                #expect(error.code == .invalidArgument)
            }
            #expect(try HandOffSettings.read(configuration) == HandOffSettings())
        }
    }
}
