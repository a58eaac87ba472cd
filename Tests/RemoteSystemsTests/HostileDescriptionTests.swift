// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// Names and texts with control characters for a terminal or a log.
@Suite(.timeLimit(.minutes(1))) struct HostileDescriptionTests {
    static let hostile = ["\u{1B}[2J", "a\nb", "\u{202E}moc", "\u{9B}31m", "a\u{200B}b", "a\u{2028}b", "\u{7F}"]

    @Test(arguments: hostile)
    func `control characters are removed from texts, and names with them are left out`(text: String) throws {
        var records = SystemBrowserStateMachineTests.description("Attic" + text, services: []).records.records
        records["system"]?["Model"] = .string(text + "X1")
        records[StateKey("service/" + text)] = [:]
        records["service/test.good"] = [:]
        records["attribute/as"] = ["Value": .string(text)]
        for id in ["test." + text, "test.good"] {
            records[StateKey("running/" + id)] = [:]
            records[StateKey("installed/" + id)] = [
                "DisplayName": .string(text + "X2"), "Services": [text: [:], "s": [:]],
            ]
        }
        let description = try #require(SystemDescription(records))
        for reported in [description.displayName, try #require(description.model)] {
            #expect(!reported.hasControlCharacters)
        }
        #expect(description.displayName.hasPrefix("Attic"))
        #expect(description.running == ["test.good"])
        #expect(description.installed.map(\.id) == ["test.good"])
        #expect(description.installed.first?.displayName.hasControlCharacters == false)
        #expect(description.installed.first?.services.map(\.name) == ["s"])
        #expect(description.application.services.map(\.name) == ["test.good"])
        #expect(description.application.attributes == ["as": text])
        records["application"]?["Id"] = .string("test" + text)
        #expect(SystemDescription(records) == nil)
    }

    @Test(arguments: hostile)
    func `a host with such a name, or with such a service, does not start`(name: String) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            for (application, service) in [("test" + name, "test.echo"), ("test.host", "test" + name)] {
                let host = RemoteSystemHost(
                    loopbackSystem.configuration(application),
                    services: [AppService(service) { $0.message }]
                )
                let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains("no control, invisible") == true)
            }
        }
    }
}
