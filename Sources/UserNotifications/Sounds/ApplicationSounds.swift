// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The sound files of this system's applications.
package protocol ApplicationSounds: Sendable {
    /// The absolute path of a sound file that a notification server may play; `nil` if the application has none with
    /// this name.
    func path(of name: String, _ application: String) async -> String?
}
