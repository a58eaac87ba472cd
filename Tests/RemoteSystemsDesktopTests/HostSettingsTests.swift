// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// The settings of the host daemon, as values.
@Suite struct HostSettingsTests {
    private static func read(_ text: String) -> (content: HostFile?, problems: [ConfigurationFileError]) {
        var problems: [ConfigurationFileError] = []
        let file = ConfigurationFile(path: "/etc/host.json", bytes: Array(text.utf8))
        return (file.decodeWhatIsValid(HostFile.self, problems: &problems), problems)
    }

    @Test func `the valid values of a file are read beside invalid ones`() throws {
        let (content, problems) = Self.read(
            "{\n\"prot\": 1,\n\"port\": 99999,\n\"advertise\": \"yes\",\n\"uriPolicy\": [\"tel=ask\"]\n}"
        )
        #expect(problems.map(\.line) == [2, 4])
        #expect(try #require(content).values == [.port: .int(99_999), .uriPolicy: .strings(["tel=ask"])])
    }

    @Test(arguments: ["", "[]", "7", "{\"port\": 1,}"])
    func `a file that is no JSON object has a problem and no values`(text: String) {
        let (content, problems) = Self.read(text)
        #expect(content == nil && !problems.isEmpty)
    }

    @Test func `a whole number may be written with a decimal point`() throws {
        let (content, problems) = Self.read("{\"port\": 47475.0, \"startTimeout\": 5}")
        #expect(problems.isEmpty)
        var settings = HostSettings()
        for (setting, value) in try #require(content).values { try settings.set(setting, value) }
        #expect(settings.port == 47_475 && settings.startTimeout == .seconds(5))
    }

    @Test func `a value out of its range changes nothing`() {
        var settings = HostSettings()
        let wrong: [(HostSetting, HostSetting.Value)] = [
            (.port, .int(65_536)), (.port, .bool(true)), (.startTimeout, .double(.nan)),
            (.stateDirectory, .string("here")), (.displayName, .string("a\u{202E}b")), (.network, .string("")),
            (.uriPolicy, .strings(["tel=ask", "TEL=deny"])), (.askProgram, .strings([])),
            (.documentRoots, .strings(["a=b"])), (.snoozeMinutes, .int(-1)),
        ]
        for (setting, value) in wrong {
            #expect(throws: HostSettings.NotTaken.self, "\(setting)") { try settings.set(setting, value) }
        }
        #expect(settings == HostSettings())
    }
}
