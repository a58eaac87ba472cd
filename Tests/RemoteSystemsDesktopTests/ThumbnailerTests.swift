// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// The files with which packages install thumbnailers.
@Suite struct ThumbnailerTests {
    private static let types = "MimeType=video/mp4;Video/X-MSVideo;"

    private static func thumbnailer(_ lines: String...) -> Thumbnailer? {
        Thumbnailer((["[Thumbnailer Entry]"] + lines).joined(separator: "\n"))
    }

    private static func arguments(_ exec: String) -> [String]? {
        Self.thumbnailer("Exec=\(exec)", Self.types)?.arguments("/kept/a file", to: "/kept/result", pixels: 256)
    }

    @Test func `the file of Debian's thumbnailer for videos is read`() throws {
        let thumbnailer = try #require(
            Thumbnailer(
                """
                # A comment
                [Thumbnailer Entry]
                TryExec=ffmpegthumbnailer
                Exec=ffmpegthumbnailer -i %i -o %o -s %s -f
                MimeType=video/mp4;Video/X-MSVideo;
                X-Later=value

                [Another group]
                Exec=other

                """
            )
        )
        #expect(thumbnailer.neededProgram == "ffmpegthumbnailer")
        #expect(thumbnailer.mediaTypes == ["video/mp4", "video/x-msvideo"])
        #expect(
            thumbnailer.arguments("/kept/a file", to: "/kept/result", pixels: 256)
                == ["ffmpegthumbnailer", "-i", "/kept/a file", "-o", "/kept/result", "-s", "256", "-f"]
        )
    }

    @Test(arguments: [
        "", "no key file", "\0\u{FFFD}[", "[Thumbnailer Entry]", "[Thumbnailer Entry]\nExec=a %i %o",
        "[Thumbnailer Entry]\nMimeType=video/mp4;", "[Desktop Entry]\nExec=a %i %o\nMimeType=video/mp4;",
        "[Thumbnailer Entry]\nExec=\nMimeType=video/mp4;", "[Thumbnailer Entry]\nExec=\"a %i %o\nMimeType=video/mp4;",
        "[Thumbnailer Entry]\nExec=a %i %o\\\\\nMimeType=video/mp4;",
    ])
    func `a file that lacks a key, or is damaged, is no thumbnailer`(text: String) {
        #expect(Thumbnailer(text) == nil)
    }

    @Test func `TryExec may be missing or empty`() throws {
        let missing = try #require(Self.thumbnailer("Exec=a %i %o", Self.types))
        let empty = try #require(Self.thumbnailer("TryExec=", "Exec=a %i %o", Self.types))
        #expect(missing.neededProgram == nil && empty.neededProgram == nil)
    }

    @Test func `the codes of a line become arguments, also inside of one`() {
        #expect(Self.arguments("a %u %o") == ["a", "file:///kept/a%20file", "/kept/result"])
        #expect(
            Self.arguments("a --size=%s --in=%i 100%% %o")
                == ["a", "--size=256", "--in=/kept/a file", "100%", "/kept/result"]
        )
        #expect(Self.arguments("'/opt/my tool' 'two words' %i %o")?.prefix(2) == ["/opt/my tool", "two words"])
        // A shell may run what is written in the line, with the paths as arguments.
        #expect(
            Self.arguments("sh -c 'tool -s %s \"$1\" \"$2\"' sh %i %o")
                == ["sh", "-c", "tool -s 256 \"$1\" \"$2\"", "sh", "/kept/a file", "/kept/result"]
        )
    }

    @Test(arguments: [
        // A path would be part of a command.
        "sh -c 'tool %i %o'", "bash -ec 'tool %i' %o", "env -i sh -c 'tool < %u > %o'", "sh -c %i %o",
        "tool '--run=$(cat %i)' %o", "tool --run='%i;' %o",
        // What is run would depend on the file.
        "%i %o", "%o %i", "a%%b %i %o",
        // It does not read the file, or writes no result.
        "tool", "tool %s", "tool %i", "tool %u %s", "tool %o",
        // Codes that do not exist.
        "tool %i %o %f", "tool %i %o %", "tool %i %o %S", "tool %i %o %é", "'' %i %o",
    ])
    func `a line that makes a path part of a command, or is not that of a thumbnailer, is not used`(exec: String) {
        #expect(Self.arguments(exec) == nil)
    }
}
