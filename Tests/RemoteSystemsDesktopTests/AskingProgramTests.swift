// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// What somebody is asked before a URI is opened.
@Suite struct AskingProgramTests {
    @Test(arguments: [
        ("com.example.player", "The application com.example.player"), ("7zip", "The application 7zip"),
        ("--help", "An application"), ("-", "An application"), (".hidden", "An application"), ("", "An application"),
        ("a b", "An application"), ("a\nb", "An application"), ("<b>", "An application"),
        (String(repeating: "a", count: 129), "An application"),
    ])
    func `the question begins with words of ours, and repeats an id only if it is one (X-20)`(id: String, who: String) {
        #expect(
            AskingProgram.question("tel:1", application: id, system: "ABCD")
                == "\(who) on the system ABCD of your account wants to open this here: tel:1"
        )
    }
}
