// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsDesktop

@Suite struct DesktopEntriesTests {
    static let hasMediaTypes =
        FileManager.default.fileExists(atPath: "/usr/share/mime/globs2")
        || ProcessInfo.processInfo.environment["CI"] != nil

    @Test(.enabled(if: DesktopEntriesTests.hasMediaTypes, "shared-mime-info is not installed"))
    func `the name of an audio or video file suggests its media type, also if its ending has several`() {
        for (name, type) in [
            ("song.mp3", "audio/mpeg"), ("song.ogg", "audio/ogg"), ("song.oga", "audio/ogg"),
            ("song.opus", "audio/ogg"), ("film.mp4", "video/mp4"), ("text.txt", nil), ("page.html", nil), ("song", nil),
        ] as [(String, String?)] {
            let found = DesktopEntries.mediaType(ofFileNamed: name)
            // Newer lists name the type of `.opus` itself.
            let isAudio = type == "audio/ogg" && found?.hasPrefix("audio/") == true
            #expect(found == type || isAudio, "\(name): \(found ?? "none")")
        }
    }
}
