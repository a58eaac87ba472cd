// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsDesktop
import Testing

/// The sound files of installed applications.
@Suite struct SoundFileTests {
    private static let wav = Data("RIFF____WAVE and a sound".utf8)

    /// Runs `body` with the directory of an application's sounds.
    private static func with(_ body: (String, DesktopSounds) async throws -> Void) async throws {
        try await Daemon.with { daemon in
            let directory = "\(daemon.directory)/sounds"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
            try #"{"id": "test.one", "start": {"exec": ["/bin/true"]}, "notificationSounds": "\#(directory)"}"#.write(
                toFile: "\(daemon.directory)/data/remote-systems/applications/test.one.json",
                atomically: true,
                encoding: .utf8
            )
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(registry.problems.isEmpty)
            try await body(directory, DesktopSounds(registry))
        }
    }

    private static func write(_ data: Data, to path: String) throws { try data.write(to: URL(filePath: path)) }

    @Test(arguments: [Self.wav, Data("OggS and a sound".utf8)])
    func `a sound in the directory of the manifest is played, whatever its name is (N-05, X-74)`(sound: Data)
        async throws
    {
        try await Self.with { directory, sounds in
            for name in ["chime.oga", "bell"] {
                try Self.write(sound, to: "\(directory)/\(name)")
                #expect(await sounds.path(of: name, "test.one") == "\(directory)/\(name)")
                #expect(await sounds.path(of: name, "test.two") == nil)
            }
        }
    }

    @Test func `a name that leads elsewhere, and a file that may not be played, is no sound (N-05, X-74)`()
        async throws
    {
        try await Self.with { directory, sounds in
            try Self.write(Self.wav, to: "\(directory)/../outside.wav")
            try Self.write(Self.wav, to: "\(directory)/.hidden.wav")
            for name in ["../outside.wav", "/\(directory)/.hidden.wav", ".hidden.wav", "..", ".", "", "missing.wav"] {
                #expect(await sounds.path(of: name, "test.one") == nil, "\(name)")
            }
            try Self.write(Data("no sound at all".utf8), to: "\(directory)/text.wav")
            try Self.write(Data("RIFF____AVI LIST".utf8), to: "\(directory)/video.wav")
            try Self.write(Data("OggS".utf8), to: "\(directory)/short.oga")
            try Self.write(Data(), to: "\(directory)/empty.wav")
            try Self.write(Self.wav + Data(count: 5_000_000), to: "\(directory)/large.wav")
            let made = unsafe mkfifo("\(directory)/pipe.wav", 0o600)
            #expect(made == 0)
            try Self.write(Self.wav, to: "\(directory)/shared.wav")
            let changed = unsafe chmod("\(directory)/shared.wav", 0o666)
            #expect(changed == 0)
            for name in ["text", "video", "empty", "large", "pipe", "shared"].map({ "\($0).wav" }) + ["short.oga"] {
                #expect(await sounds.path(of: name, "test.one") == nil, "\(name)")
            }
            try Self.write(Self.wav, to: "\(directory)/good.wav")
            #expect(await sounds.path(of: "good.wav", "test.one") != nil)
            let shared = unsafe chmod(directory, 0o777)
            #expect(shared == 0)
            #expect(await sounds.path(of: "good.wav", "test.one") == nil)
        }
    }
}
