// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct HelloTests {
    private static let limits = PeerLimits(messageBytes: 2048, window: 4, windowBytes: 4096)
    private static let hello: ValueSet = [
        "version": [1, 0], "service": "com.example.ping", "application": "com.example.caller",
        "limit": 2048, "window": 4, "window-bytes": 4096,
    ]

    private static func hello(with key: String, _ value: Value?) -> ValueSet {
        var map = Self.hello
        map[key] = value
        return map
    }

    @Test func `a hello survives its conversion to bytes`() throws {
        let hello = Hello(service: "s", targetApplication: "p", application: "a", limits: Self.limits)
        #expect(try Hello(hello.valueSet) == hello)
        #expect(hello.valueSet["version"] == [1, 0])
    }

    @Test func `an acceptance survives its conversion to bytes`() throws {
        let schema: ValueSet = ["Type": "string"]
        for schemas in [
            PublishedSchemas(), PublishedSchemas(request: schema), PublishedSchemas(response: schema),
            PublishedSchemas(pushRequest: schema), PublishedSchemas(pushResponse: schema),
            PublishedSchemas(request: schema, response: [:], pushRequest: [:], pushResponse: schema),
        ] {
            let acceptance = Acceptance(application: "a", limits: Self.limits, schemas: schemas)
            #expect(try Acceptance(acceptance.valueSet) == acceptance)
        }
    }

    @Test func `only the application may be missing`() throws {
        #expect(try Hello(Self.hello(with: "application", nil)).application == "")
        for key in ["version", "service", "limit", "window", "window-bytes"] {
            #expect(throws: ValueSetError.self) { try Hello(Self.hello(with: key, nil)) }
        }
    }

    @Test(
        arguments: [
            ("service", ""), ("service", 1), ("service", .string(String(repeating: "x", count: 257))),
            ("target", 1), ("target", .string(String(repeating: "x", count: 257))), ("target", .null),
            ("application", .bool(true)), ("application", .string(String(repeating: "x", count: 257))),
            ("version", "1.0"), ("version", [1]), ("version", ["1", "0"]), ("version", [-1, 0]),
            ("service", "a\nb"), ("service", "\u{1B}[2J"), ("target", "com.example\u{0}"), ("target", "a\u{200B}b"),
            ("application", "\u{202E}moc"), ("application", "a\u{2028}b"), ("application", "\u{9B}31m"),
            ("limit", 1023), ("limit", -1), ("limit", 2048.5), ("limit", "2048"),
            ("window", 0), ("window", -1),
            ("window-bytes", 2047), ("window-bytes", 0),
        ] as [(String, Value)]
    )
    func `a hello with an invalid value is refused`(key: String, value: Value) {
        #expect(throws: ValueSetError.self) { try Hello(Self.hello(with: key, value)) }
    }

    @Test func `any name is either refused or safe to print, and never read as another name`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var name = ""
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                // Half of the scalars come from the range that holds most control characters.
                let most: UInt32 = Bool.random(using: &generator) ? 0x2100 : 0x10_FFFF
                name.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0...most, using: &generator)) ?? "a")
            }
            let steers = name.unicodeScalars.contains {
                [.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
            }
            let read = try? Hello(Self.hello(with: "application", .string(name)))
            #expect((read == nil) == steers)
            #expect(read.map { $0.application == name } ?? true)
            #expect(!name.withoutControlCharacters.hasControlCharacters)
        }
    }

    @Test func `an acceptance with control characters in its name is refused, too`() {
        let acceptance = Acceptance(application: "\u{1B}]0;x\u{7}", limits: Self.limits)
        #expect(throws: ValueSetError.self) { try Acceptance(acceptance.valueSet) }
    }

    @Test func `a schema that is not a dictionary is refused`() {
        for key in ["request-schema", "response-schema", "push-request-schema", "push-response-schema"] {
            var map = Acceptance(application: "a", limits: Self.limits).valueSet
            map[key] = 1
            #expect(throws: ValueSetError.self) { try Acceptance(map) }
        }
    }

    @Test func `a peer's limit above our maximum is read as the maximum`() throws {
        var map = Self.hello
        for key in ["limit", "window", "window-bytes"] { map[key] = .unsigned(.max) }
        let limits = try Hello(map).limits
        #expect(limits.messageBytes == 16 << 20)
        #expect(limits.window == 65_536)
        #expect(limits.windowBytes >= limits.messageBytes)
    }

    @Test func `keys of newer minor versions are ignored, and so are further elements of the version`() throws {
        var map = Self.hello(with: "colour", ["red": 1])
        map["version"] = [1, 7, "beta"]
        #expect(try Hello(map).version == ProtocolVersion(major: 1, minor: 7))
        #expect(try Hello(map).service == "com.example.ping")
    }

    @Test func `features survive the conversion to bytes, and are left out if there are none`() throws {
        let hello = Hello(
            service: "s",
            targetApplication: nil,
            application: "a",
            limits: Self.limits,
            features: ["b", "a.example"],
            requires: ["b"]
        )
        #expect(hello.valueSet["features"] == ["a.example", "b"])
        #expect(hello.valueSet["requires"] == ["b"])
        #expect(try Hello(hello.valueSet) == hello)
        let acceptance = Acceptance(application: "a", limits: Self.limits, schemas: PublishedSchemas(), features: ["b"])
        #expect(try Acceptance(acceptance.valueSet) == acceptance)
        let none = Hello(service: "s", targetApplication: nil, application: "a", limits: Self.limits, features: [])
        #expect(none.valueSet["features"] == nil && none.valueSet["requires"] == nil)
    }

    @Test func `invalid feature names are ignored, and make a required feature unknown`() throws {
        let names: Value = ["b", "b", "B", "", 7, .null, "c d", .string(String(repeating: "x", count: 65))]
        #expect(try Hello(Self.hello(with: "features", names)).features == ["b"])
        #expect(try Hello(Self.hello(with: "requires", names)).requires == ["b", ""])
        for key in ["features", "requires"] {
            #expect(throws: ValueSetError.self) { try Hello(Self.hello(with: key, "b")) }
        }
    }

    @Test func `an empty package or application is treated as missing`() throws {
        #expect(try Hello(Self.hello(with: "target", "")).targetApplication == nil)
        #expect(try Hello(Self.hello(with: "application", "")).application == "")
    }

    @Test func `of another major version only the version is read`() throws {
        #expect(try Hello(["version": [2, 0], "service": 5]).version.major == 2)
        #expect(try Acceptance(["version": [2, 0]]).version.major == 2)
    }

    @Test func `invalid limits cannot be set`() {
        var limits = ConnectionLimits(messageBytes: 1)
        #expect(limits.messageBytes == 1024)
        limits.messageBytes = .max
        limits.window = 0
        limits.concurrentRequests = -1
        limits.windowBytes = 0
        #expect(limits.messageBytes == 16 << 20)
        #expect(limits.window == 1)
        #expect(limits.concurrentRequests == 1)
        #expect(limits.windowBytes == limits.messageBytes)
        limits.window = .max
        #expect(limits.window == 65_536)
    }
}
