// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// The description of a system as records.
@Suite(.timeLimit(.minutes(1))) struct PresenceTopicTests {
    static func description() -> SystemDescription {
        var description = SystemBrowserStateMachineTests.description("Attic")
        description.manufacturer = "Example"
        description.model = "X1"
        description.isAuthority = true
        description.application.attributes = ["room": "attic", "": "empty", "a/b": "slash"]
        description.application.uriSchemes = ["attic", "light"]
        var service = RemoteSystemApplication.Service(name: "com.example.light")
        service.requestSchema = AllowedValueSchema(fields: [.required("On", .bool)])
        service.responseSchema = .full
        service.version = "2"
        service.summary = "Switches the light."
        service.supportsRemote = false
        description.application.services = [service, RemoteSystemApplication.Service(name: "com.example.ping")]
        var installed = SystemDescription.Application(id: "com.example.film", displayName: "Film")
        installed.attributes = ["size": "big"]
        installed.services = [service]
        installed.uriSchemes = ["film"]
        description.installed = [installed, SystemDescription.Application(id: "com.example.lamp", displayName: "Lamp")]
        description.running = ["com.example.film", "com.example.other"]
        return description
    }

    @Test func `a description survives its conversion to records`() throws {
        let description = Self.description()
        let (records, isComplete) = description.records
        #expect(isComplete)
        for (key, record) in records { #expect(PresenceTopic.schema.accepts(record, for: key), "\(key)") }
        let read = try #require(SystemDescription(records))
        // A record needs a key.
        var expected = description
        expected.application = description.application.withoutEmptyAttribute
        #expect(read == expected)
    }

    @Test func `the programs of a machine survive the conversion with all that they describe`() throws {
        var description = Self.description()
        var program = description.application
        (program.id, program.attributes) = ("com.example.radio", ["room": "attic", "a/b": "slash"])
        let fields = (0..<1000).map { AllowedValueSchema.Field.required("field-number-\($0)", .string) }
        program.services[1].requestSchema = AllowedValueSchema(fields: fields)
        description.programs = [
            SystemDescription.Program(application: program, number: 7, epoch: -5, port: 4711),
            SystemDescription.Program(
                application: SystemDescription.Application(id: "com.example.tv", displayName: "TV"),
                number: 0,
                epoch: 6,
                port: 4712
            ),
        ]
        let (records, isComplete) = description.records
        #expect(isComplete)
        for (key, record) in records { #expect(PresenceTopic.schema.accepts(record, for: key), "\(key)") }
        let read = try #require(SystemDescription(records))
        #expect(read.programs == description.programs)
        #expect(read.running == description.running)
        // Without their own records, or with those of another application, they are only named.
        var cut = records
        cut["process/7/application"] = nil
        cut["process/0/application"] = ["Id": "com.example.other"]
        let named = try #require(SystemDescription(cut))
        #expect(named.programs.isEmpty)
        #expect(named.running == ["com.example.film", "com.example.other", "com.example.radio", "com.example.tv"])
    }

    @Test func `a program that does not fit into the topic is only named`() throws {
        var description = Self.description()
        description.programs = (0..<20).map { number in
            var program = SystemDescription.Application(id: "test.\(100 + number)", displayName: "x")
            for key in 0..<250 { program.attributes["\(key)"] = String(repeating: "x", count: 300) }
            return SystemDescription.Program(application: program, number: number, epoch: 1, port: 1)
        }
        let (records, isComplete) = description.records
        #expect(isComplete)
        #expect(records.count <= StateLimits.topicRecords)
        let read = try #require(SystemDescription(records))
        #expect((2..<20).contains(read.programs.count))
        #expect(read.programs.map(\.application) == description.programs.prefix(read.programs.count).map(\.application))
        #expect(read.running.count == description.running.count + 20 - read.programs.count)
    }

    @Test func `without the records of system and application there is no description`() {
        for key in [PresenceTopic.system, PresenceTopic.application] {
            var records = Self.description().records.records
            records[StateKey(key)] = nil
            #expect(SystemDescription(records) == nil)
        }
    }

    @Test func `a schema that does not fit into a record is split`() throws {
        var description = Self.description()
        let fields = (0..<1000).map { AllowedValueSchema.Field.required("field-number-\($0)", .string) }
        description.application.services[1].pushResponseSchema = AllowedValueSchema(fields: fields)
        let (records, isComplete) = description.records
        #expect(isComplete)
        #expect(records["push-response-schema/1/com.example.ping"] != nil)
        var read = try #require(SystemDescription(records))
        #expect(read.application.services == description.application.services)
        var cut = records
        cut["push-response-schema/1/com.example.ping"] = nil
        read = try #require(SystemDescription(cut))
        #expect(read.application.services[1].pushResponseSchema == .full)
    }

    @Test func `an installed application that does not fit into its record loses only its schemas`()
        throws
    {
        var description = Self.description()
        let fields = (0..<1000).map { AllowedValueSchema.Field.required("field-number-\($0)", .string) }
        var service = description.application.services[1]
        service.requestSchema = AllowedValueSchema(fields: fields)
        description.installed[1].services = [service]
        let (records, isComplete) = description.records
        #expect(!isComplete)
        let read = try #require(SystemDescription(records))
        #expect(read.application == description.application.withoutEmptyAttribute)
        #expect(read.installed[0] == description.installed[0])
        #expect(read.installed[1].services == [description.application.services[1]])
    }

    @Test func `any description fits into a topic`() throws {
        var description = Self.description()
        let fields = (0..<400).map { AllowedValueSchema.Field.required("field-number-\($0)", .string) }
        description.application.services = (100..<180).map { number in
            var service = RemoteSystemApplication.Service(name: "com.example.service-\(number)")
            service.requestSchema = AllowedValueSchema(fields: fields)
            return service
        }
        description.installed = (100..<200).map { number in
            var application = SystemDescription.Application(id: "com.example.\(number)", displayName: "Application")
            application.services = [description.application.services[0]]
            return application
        }
        let (records, isComplete) = description.records
        #expect(!isComplete)
        let publisher = StatePublisher()
        let topic = try publisher.open(PresenceTopic.schema, for: .sameAccount)
        try topic.replace(by: records)
        let read = try #require(SystemDescription(records))
        #expect(read.application.services.count == 80)
        #expect(read.application.services.first?.requestSchema != nil)
        #expect(read.application.services.last?.requestSchema == nil)
        #expect(read.installed.count == 100)
        #expect(read.installed.last?.services.map(\.requestSchema) == [nil])
    }

    @Test func `a changed attribute sends only that attribute`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let attributes = ["room": "attic", "volume": "1"]
            try await loopbackSystem.withHost([AppService.ping], attributes: attributes) { host in
                let context = ApplicationContext(loopbackSystem.configuration("test.watcher"))
                let connection = try await context.connector().connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: context.hello(service: Presence.service, targetApplication: nil, limits: context.limits)
                ) { _, _ in Response() }
                let subscriber = StateSubscriber(PresenceTopic.schema)
                let changes = Mutex<[StateChange]>([])
                let following = Task {
                    try await subscriber.follow(over: connection) { change in changes.withLock { $0.append(change) } }
                }
                try await until { changes.withLock { $0.count } == 1 }
                #expect(SystemDescription(subscriber.records)?.application.attributes == attributes)
                try await host.update(attributes: ["room": "attic", "volume": "2"])
                try await until { changes.withLock { $0.count } == 2 }
                let change = try #require(changes.withLock { $0.last })
                #expect(change.put == ["attribute/volume": ["Value": "2"]])
                #expect(change.drop == [])
                #expect(!change.isSnapshot)
                try await host.update(attributes: ["volume": "2"])
                try await until { changes.withLock { $0.count } == 3 }
                #expect(changes.withLock { $0.last?.drop } == ["attribute/room"])
                following.cancel()
                _ = await following.result
                await connection.close()
            }
        }
    }
}

extension SystemDescription.Application {
    fileprivate var withoutEmptyAttribute: Self {
        var application = self
        application.attributes[""] = nil
        return application
    }
}
