// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// The messages of the built-in services have the form that `Docs/wire/` specifies, in both directions.
@Suite struct BuiltInMessageTests {
    /// Encodes a request, and decodes and encodes it again.
    private static func expect<Request, Response>(
        _ method: BuiltInMethod<Request, Response>,
        _ request: Request,
        encodes message: ValueSet
    ) throws {
        #expect(try method.message(request) == message)
        #expect(try method.message(method.request(from: message)) == message)
    }

    /// Encodes a response, and decodes and encodes it again.
    private static func expect<Request, Response>(
        _ method: BuiltInMethod<Request, Response>,
        response: Response,
        encodes message: ValueSet
    ) throws {
        #expect(try ValueSetEncoder().encode(response) == message)
        #expect(try ValueSetEncoder().encode(method.response(from: message)) == message)
    }

    private static func schema(_ fields: [AllowedValueSchema.Field]) -> AllowedValueSchema {
        AllowedValueSchema(fields: fields, allowsFurtherKeys: true, basedOn: .full)
    }

    // MARK: Launching

    @Test func `a launch request has the keys of its page, and leaves out what has no value`() throws {
        let uri = try LaunchURI("player:x")
        try Self.expect(Launch.launch, LaunchMessage(uri: uri), encodes: ["Type": "launch", "Uri": "player:x"])
        var message = LaunchMessage(
            uri: uri,
            fallback: try LaunchURI("https://example.com/"),
            applications: ["a", "b"],
            input: ["data": .data(Data([1])), "null": .null]
        )
        message.isLimited = true
        try Self.expect(
            Launch.launch,
            message,
            encodes: [
                "Type": "launch", "Uri": "player:x", "Fallback": "https://example.com/", "Applications": ["a", "b"],
                "Only": true, "Input": ["data": .data(Data([1])), "null": .null],
            ]
        )
    }

    @Test func `a launch request is checked against the types of its page`() {
        #expect(
            Launch.launch.requestSchema
                == Self.schema([
                    .required("Uri", .string), .optional("Fallback", .string),
                    .optional("Applications", .array(of: .any)), .optional("Only", .bool),
                    .optional("Input", .dictionary(.full)),
                ])
        )
    }

    @Test func `application ids of another form, and those behind the 16th, are ignored`() throws {
        let long = String(repeating: "x", count: 257)
        var ids: [Value] = ["a", 1, "", .string(long), .null, ["b"], "c"]
        ids += (1...20).map { .string("n\($0)") }
        let message = try Launch.launch.request(from: ["Uri": "player:x", "Applications": .array(ids)])
        #expect(message.applications == ["a", "c"] + (1...9).map { "n\($0)" })
    }

    @Test func `a launch response has the keys of its page`() throws {
        try Self.expect(Launch.launch, response: LaunchResponse(.unknown), encodes: ["Status": 0])
        var response = LaunchResponse(.appUnavailable, "Busy.", canRetry: true)
        response.opened = .fallback
        response.application = "test.player"
        try Self.expect(
            Launch.launch,
            response: response,
            encodes: [
                "Status": 2, "Text": "Busy.", "Retry": true, "Opened": "fallback", "Application": "test.player",
            ]
        )
    }

    @Test func `in a launch response only the status decides whether it can be read`() throws {
        let message: ValueSet = ["Status": 1, "Text": 5, "Retry": "yes", "Opened": "else", "Application": ""]
        #expect(try Launch.launch.response(from: message) == LaunchResponse(.success))
        for message in [[:], ["Status": -1], ["Status": "1"], ["Status": 1.0], ["Status": .unsigned(.max)]]
            as [ValueSet]
        {
            #expect(throws: InvalidMessage.self, "\(message)") { try Launch.launch.response(from: message) }
        }
        let text: ValueSet = ["Status": 7, "Text": "No\u{1B}[2J."]
        #expect(try Launch.launch.response(from: text).text?.contains("\u{1B}") == false)
    }

    // MARK: Diagnosis

    @Test func `the requests of a diagnosis have the keys of their page`() throws {
        try Self.expect(Diagnosis.state, EmptyMessage(), encodes: ["Type": "state"])
        try Self.expect(Diagnosis.look, Diagnosis.Look(instance: "abc"), encodes: ["Type": "look", "Instance": "abc"])
        try Self.expect(Diagnosis.connect, Diagnosis.Connect(port: 4711), encodes: ["Type": "connect", "Port": 4711])
        #expect(Diagnosis.look.requestSchema == Self.schema([.required("Instance", .string)]))
        #expect(Diagnosis.connect.requestSchema == Self.schema([.required("Port", .integer)]))
    }

    @Test func `the responses of a diagnosis have the keys of their page`() throws {
        try Self.expect(
            Diagnosis.state,
            response: Diagnosis.State(
                time: Date(timeIntervalSince1970: 1.5),
                version: "1.2",
                address: "::1",
                advertised: ["abc"]
            ),
            encodes: [
                "Time": .date(Date(timeIntervalSince1970: 1.5)), "Version": "1.2", "Address": "::1",
                "Advertised": ["abc"],
            ]
        )
        try Self.expect(Diagnosis.look, response: Diagnosis.Looked(isSeen: true), encodes: ["Seen": true])
        try Self.expect(
            Diagnosis.connect,
            response: Diagnosis.Connected(outcome: BackConnection.silent.rawValue),
            encodes: ["Outcome": "silent"]
        )
    }

    // MARK: Renewal

    @Test func `a renewal has the keys of its page`() throws {
        try Self.expect(
            CertificateRenewal.renew,
            CertificateRenewal.Request(request: Data([1, 2])),
            encodes: ["Type": "renew", "Request": .data(Data([1, 2]))]
        )
        try Self.expect(
            CertificateRenewal.renew,
            response: CertificateRenewal.Renewed(certificate: Data([3])),
            encodes: ["Certificate": .data(Data([3]))]
        )
        #expect(CertificateRenewal.renew.requestSchema == Self.schema([.required("Request", .data)]))
        #expect(CertificateRenewal.renew.responseSchema == Self.schema([.required("Certificate", .data)]))
    }
}
