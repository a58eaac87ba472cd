// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The files by which a browser finds the program that its extension talks to (native messaging).
package struct BrowserFiles: Sendable, Hashable {
    /// A browser.
    package enum Browser: String, Sendable, CaseIterable {
        case chromium, chrome, firefox
    }

    /// The name by which the extension connects.
    package static let name = "org.remotesystems.browser"
    /// The id of the extension in Chromium and its descendants: the hash of the key in its manifest.
    package static let chromiumExtension = "obdaphjjngncogjbgghhjcabicbcpbpi"
    /// The id of the extension in Firefox.
    package static let firefoxExtension = "browser@remotesystems.org"

    private let browser: Browser
    /// The absolute path of `remotesystems`, and its arguments after `activities browser`.
    private let program: String
    private let arguments: [String]

    package init(_ browser: Browser, program: String, arguments: [String]) {
        self.browser = browser
        self.program = program
        self.arguments = arguments
    }

    /// A program that the browser can start: a manifest takes no arguments.
    package var script: String {
        let words = [self.program, "activities", "browser", "--browser", self.browser.rawValue] + self.arguments
        return """
            #!/bin/sh
            # Written by 'remotesystems activities browser --install'.
            exec \(words.map(Self.quoted).joined(separator: " ")) "$@"

            """
    }

    /// The manifest, which lets only the extension start the program.
    ///
    /// - Parameter script: the absolute path of ``script``.
    package func manifest(script: String) -> String {
        let extensions =
            self.browser == .firefox
            ? #""allowed_extensions": ["\#(Self.firefoxExtension)"]"#
            : #""allowed_origins": ["chrome-extension://\#(Self.chromiumExtension)/"]"#
        return """
            {
              "name": "\(Self.name)",
              "description": "Continues web pages on the machines of one account",
              "path": \(Self.json(script)),
              "type": "stdio",
              \(extensions)
            }

            """
    }

    /// The place of the manifest.
    ///
    /// - Parameters:
    ///   - home: the user's home directory.
    ///   - configuration: the directory of the user's configuration, such as `~/.config`.
    package static func manifestPath(_ browser: Browser, home: String, configuration: String) -> String {
        let directory =
            switch browser {
            case .chromium: "\(configuration)/chromium/NativeMessagingHosts"
            case .chrome: "\(configuration)/google-chrome/NativeMessagingHosts"
            case .firefox: "\(home)/.mozilla/native-messaging-hosts"
            }
        return "\(directory)/\(Self.name).json"
    }

    private static func quoted(_ word: String) -> String { "'\(word.replacing("'", with: "'\\''"))'" }

    private static func json(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
