// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsDesktop

/// The examination of the sound files of applications.
@Suite struct DesktopSoundsTests {
    @Test func `a name without a file is that of a sound of the theme, and no problem`() {
        let directory = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        #expect(DesktopSounds.examine("\(directory)/\(UUID().uuidString)") == .missing)
        #expect(DesktopSounds.examine(directory) == .unusable("\(directory) is not a plain file."))
    }
}
