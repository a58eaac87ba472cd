// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// Names and texts that would steer a terminal or a log.
@Suite(.timeLimit(.minutes(1))) struct HostileDescriptionTests {
    static let hostile = ["\u{1B}[2J", "a\nb", "\u{202E}moc", "\u{9B}31m", "a\u{200B}b", "a\u{2028}b", "\u{7F}"]

    @Test(arguments: hostile)
    func `of a description, what steers is taken out of texts, and names with it are left out`(text: String) throws {
        var message = SystemBrowserStateMachineTests.description("Attic" + text).valueSet
        var system = try #require(message["System"]?.dictionary)
        var application = try #require(message["Application"]?.dictionary)
        system["Model"] = .string(text + "X1")
        application["Services"] = [["Name": .string(text)], ["Name": "test.good"]]
        application["Attributes"] = ["as": .string(text)]
        message["System"] = .dictionary(system)
        message["Application"] = .dictionary(application)
        message["Running"] = [.string("test." + text), "test.good"]
        let description = try #require(SystemDescription(message))
        for reported in [description.displayName, try #require(description.model)] {
            #expect(!reported.hasControlCharacters)
        }
        #expect(description.displayName.hasPrefix("Attic"))
        #expect(description.running == ["test.good"])
        #expect(description.application.services.map(\.name) == ["test.good"])
        #expect(description.application.attributes == ["as": text])
        application["Id"] = .string("test" + text)
        message["Application"] = .dictionary(application)
        #expect(SystemDescription(message) == nil)
    }

    @Test(arguments: hostile)
    func `a host by such a name, or with such a service, does not start`(name: String) async throws {
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
