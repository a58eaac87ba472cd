// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// A version of the wire protocol. A different major version cannot be talked to; of two minor versions the lower holds.
package struct ProtocolVersion: Sendable, Hashable, CustomStringConvertible {
    package var major: UInt64
    package var minor: UInt64

    package init(major: UInt64, minor: UInt64) {
        self.major = major
        self.minor = minor
    }

    package static let current = ProtocolVersion(major: 1, minor: 0)
    /// The protocol's name in TLS's application-layer protocol negotiation (RFC 7301).
    package static let alpn = "remote-systems/1"

    package var description: String { "\(self.major).\(self.minor)" }
}

/// The first frame on a connection: what the caller wants and what it takes.
package struct Hello: Sendable, Hashable {
    package var version: ProtocolVersion
    /// The app service's name.
    package var service: String
    /// The application that offers it, when the caller means one in particular.
    package var targetApplication: String?
    /// The application that calls, as it says itself; only the system is verified.
    package var application: String
    package var limits: PeerLimits
    /// The features that the caller has, by name.
    package var features: Set<String>
    /// The features without which the caller cannot use the connection. One that is no name counts as the empty one.
    package var requires: Set<String>
    /// Which stream the connection is to be, where ``service`` is ``StreamClaim/service``.
    package var stream: StreamClaim?

    package init(
        version: ProtocolVersion = .current,
        service: String,
        targetApplication: String?,
        application: String,
        limits: PeerLimits,
        features: Set<String> = ProtocolFeature.known,
        requires: Set<String> = [],
        stream: StreamClaim? = nil
    ) {
        self.stream = stream
        self.version = version
        self.service = service
        self.targetApplication = targetApplication
        self.application = application
        self.limits = limits
        self.features = features
        self.requires = requires
    }
}

/// The host's answer when it takes the connection.
package struct Acceptance: Sendable, Hashable {
    package var version: ProtocolVersion
    /// The application that answers.
    package var application: String
    package var limits: PeerLimits
    /// What the service publishes of its messages.
    package var schemas: PublishedSchemas
    /// The features that the host has, by name.
    package var features: Set<String>
    /// Keys that this version does not know, for a host that checks that its callers pass over them; empty when read.
    package var unknownKeys: ValueSet = [:]

    package init(
        version: ProtocolVersion = .current,
        application: String,
        limits: PeerLimits,
        schemas: PublishedSchemas = PublishedSchemas(),
        features: Set<String> = ProtocolFeature.known
    ) {
        self.version = version
        self.application = application
        self.limits = limits
        self.schemas = schemas
        self.features = features
    }
}

/// What a service publishes of its messages, each schema as a value set; `nil` where it does not say.
package struct PublishedSchemas: Sendable, Hashable {
    /// What the caller's requests must look like.
    package var request: ValueSet?
    /// What the service's responses look like.
    package var response: ValueSet?
    /// What the service's own requests to the caller look like.
    package var pushRequest: ValueSet?
    /// What the caller's responses to those must look like.
    package var pushResponse: ValueSet?

    package init(
        request: ValueSet? = nil,
        response: ValueSet? = nil,
        pushRequest: ValueSet? = nil,
        pushResponse: ValueSet? = nil
    ) {
        self.request = request
        self.response = response
        self.pushRequest = pushRequest
        self.pushResponse = pushResponse
    }

    private static var all: [WritableKeyPath<PublishedSchemas, ValueSet?>] {
        [\.request, \.response, \.pushRequest, \.pushResponse]
    }

    /// A schema that allows every message, in place of one that does not fit: without any, receivers would hold
    /// messages to a narrower rule.
    package static let unrestricted: ValueSet = ["base": "full", "furtherKeys": true]

    /// Makes room where all of them do not fit.
    ///
    /// - Returns: whether there was a schema to replace.
    mutating func replaceLargest() -> Bool {
        let sizes = Self.all.compactMap { path in
            self[keyPath: path].flatMap { schema in
                schema == Self.unrestricted ? nil : (path: path, size: (try? schema.encoded().count) ?? .max)
            }
        }
        guard let largest = sizes.max(by: { $0.size < $1.size }) else { return false }
        self[keyPath: largest.path] = Self.unrestricted
        return true
    }
}

/// What goes with a status other than success: a sentence for a person, and whether trying again can help.
package struct WireFailure: Sendable, Hashable {
    package var text: String
    /// Why, for programs: one of ``FailureCode``, or one that this version does not know; `nil` if there is none.
    package var code: String?
    package var canRetry: Bool
    /// Goes with a refusal: the port at which the same system takes this connection instead.
    package var port: Int?

    /// Longer texts are cut: an answer that holds nothing but a failure fits into the smallest limit a peer can have.
    package static let maxTextBytes = 512
    /// Longer codes are passed over.
    package static let maxCodeBytes = 64

    package init(_ text: String, code: FailureCode? = nil, canRetry: Bool = false, port: Int? = nil) {
        self.init(text, codeText: code?.rawValue, canRetry: canRetry, port: port)
    }

    /// - Parameter code: one for which ``isCode(_:)`` holds.
    package init(_ text: String, codeText code: String?, canRetry: Bool, port: Int? = nil) {
        let printable = text.withoutControlCharacters
        self.text = printable.utf8.count <= Self.maxTextBytes ? printable : Self.cut(printable)
        self.code = code
        self.canRetry = canRetry
        self.port = port
    }

    /// Counts bytes and not characters, of which one alone can be of any length.
    private static func cut(_ text: String) -> String {
        let ellipsis = "…"
        var end = text.utf8.index(text.startIndex, offsetBy: Self.maxTextBytes - ellipsis.utf8.count)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end]) + ellipsis
    }
}

// MARK: - As maps on the wire (Docs/wire-protocol.md, section 5). Keys that are not known are passed over.

extension Hello {
    package var valueSet: ValueSet {
        var map: ValueSet = [
            "version": self.version.value,
            "service": .string(self.service),
            "application": .string(self.application),
        ]
        map["target"] = self.targetApplication.map { .string($0) }
        map.write(features: self.features, under: "features")
        map.write(features: self.requires, under: "requires")
        map["stream"] = self.stream.map { .dictionary($0.valueSet) }
        self.limits.write(into: &map)
        return map
    }

    package init(_ map: ValueSet) throws(ValueSetError) {
        let version = try ProtocolVersion(map["version"])
        // What another major version means by the rest is not ours to judge: it is refused for its version.
        guard version.major == ProtocolVersion.current.major else {
            self.init(
                version: version,
                service: "",
                targetApplication: nil,
                application: "",
                limits: .least,
                features: []
            )
            return
        }
        guard let service = try map.name("service"), !service.isEmpty else {
            throw ValueSetError(.typeMismatch, "the hello names no service")
        }
        self.init(
            version: version,
            service: service,
            targetApplication: try map.name("target").flatMap { $0.isEmpty ? nil : $0 },
            application: try map.name("application") ?? "",
            limits: try PeerLimits(map),
            features: try map.features("features"),
            requires: try map.features("requires", orElse: ""),
            stream: service == StreamClaim.service ? try map.streamClaim("stream") : nil
        )
    }
}

extension Acceptance {
    package var valueSet: ValueSet {
        var map: ValueSet = ["version": self.version.value, "application": .string(self.application)]
        self.schemas.write(into: &map)
        map.write(features: self.features, under: "features")
        for (key, value) in self.unknownKeys { map[key] = value }
        self.limits.write(into: &map)
        return map
    }

    package init(_ map: ValueSet) throws(ValueSetError) {
        let version = try ProtocolVersion(map["version"])
        guard version.major == ProtocolVersion.current.major else {
            self.init(version: version, application: "", limits: .least, features: [])
            return
        }
        self.init(
            version: version,
            application: try map.name("application") ?? "",
            limits: try PeerLimits(map),
            schemas: try PublishedSchemas(map),
            features: try map.features("features")
        )
    }
}

extension PublishedSchemas {
    fileprivate func write(into map: inout ValueSet) {
        map["request-schema"] = self.request.map { .dictionary($0) }
        map["response-schema"] = self.response.map { .dictionary($0) }
        map["push-request-schema"] = self.pushRequest.map { .dictionary($0) }
        map["push-response-schema"] = self.pushResponse.map { .dictionary($0) }
    }

    fileprivate init(_ map: ValueSet) throws(ValueSetError) {
        self.request = try map.schema("request-schema")
        self.response = try map.schema("response-schema")
        self.pushRequest = try map.schema("push-request-schema")
        self.pushResponse = try map.schema("push-response-schema")
    }
}

extension ValueSet {
    fileprivate func schema(_ key: String) throws(ValueSetError) -> ValueSet? {
        guard let value = self[key] else { return nil }
        guard let schema = value.dictionary else {
            throw ValueSetError(.typeMismatch, "'\(key)' in the answer is no dictionary")
        }
        return schema
    }

    fileprivate func streamClaim(_ key: String) throws(ValueSetError) -> StreamClaim? {
        guard let value = self[key] else { return nil }
        guard let map = value.dictionary, let purpose = try map.name("purpose"), !purpose.isEmpty,
            let ticket = map["ticket"]?.data.flatMap({ StreamTicket(bytes: Array($0)) })
        else {
            throw ValueSetError(
                .typeMismatch,
                "'\(key)' is not a dictionary with a ticket of \(StreamTicket.byteCount) bytes and a purpose"
            )
        }
        return StreamClaim(ticket: ticket, purpose: purpose)
    }

    /// The name of a service or an application; `nil` if there is none under the key. Names are compared, so one that is no
    /// name is refused and not mended: what is mended could be another's.
    fileprivate func name(_ key: String) throws(ValueSetError) -> String? {
        guard let value = self[key] else { return nil }
        guard let name = value.string, name.utf8.count <= 256, !name.hasControlCharacters else {
            throw ValueSetError(
                .typeMismatch,
                "'\(key)' is not a string of at most 256 bytes without control, invisible and line-breaking characters"
            )
        }
        return name
    }
}

extension WireFailure {
    package var valueSet: ValueSet {
        var map: ValueSet = ["text": .string(self.text), "retry": .bool(self.canRetry)]
        map["code"] = self.code.map { .string($0) }
        map["port"] = self.port.map { .integer(Int64($0)) }
        return map
    }

    package init(_ map: ValueSet) {
        let port = map["port"]?.unsignedInteger.flatMap { UInt16(exactly: $0) }.flatMap { $0 == 0 ? nil : Int($0) }
        self.init(
            map["text"]?.string ?? "",
            codeText: map["code"]?.string.flatMap { Self.isCode($0) ? $0 : nil },
            canRetry: map["retry"]?.bool ?? false,
            port: port
        )
    }

    /// Lower-case letters, digits, hyphens and dots of ASCII. It is compared and printed as it is.
    package static func isCode(_ text: String) -> Bool {
        (1...Self.maxCodeBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
    }
}

extension ProtocolVersion {
    var value: Value { .array([.unsigned(self.major), .unsigned(self.minor)]) }

    init(_ value: Value?) throws(ValueSetError) {
        guard let parts = value?.array, parts.count >= 2, let major = parts[0].unsignedInteger,
            let minor = parts[1].unsignedInteger
        else {
            throw ValueSetError(.typeMismatch, "the protocol version is missing")
        }
        self.init(major: major, minor: minor)
    }
}

extension PeerLimits {
    /// What every peer takes at least.
    static let least = PeerLimits(
        messageBytes: ConnectionLimits.minMessageBytes,
        window: 1,
        windowBytes: ConnectionLimits.minMessageBytes
    )

    func write(into map: inout ValueSet) {
        map["limit"] = .unsigned(UInt64(self.messageBytes))
        map["window"] = .unsigned(UInt64(self.window))
        map["window-bytes"] = .unsigned(UInt64(self.windowBytes))
    }

    init(_ map: ValueSet) throws(ValueSetError) {
        guard let limit = map["limit"]?.unsignedInteger, let window = map["window"]?.unsignedInteger,
            let windowBytes = map["window-bytes"]?.unsignedInteger
        else {
            throw ValueSetError(.typeMismatch, "the limits are missing")
        }
        guard limit >= UInt64(ConnectionLimits.minMessageBytes), window >= 1, windowBytes >= limit else {
            throw ValueSetError(
                .typeMismatch,
                "the limits make no sense: limit \(limit), window \(window), window-bytes \(windowBytes)"
            )
        }
        // What a peer takes beyond our own most we never use.
        self.init(
            messageBytes: Int(min(limit, UInt64(ConnectionLimits.maxMessageBytes))),
            window: Int(min(window, UInt64(ConnectionLimits.maxWindow))),
            windowBytes: Int(min(windowBytes, 1 << 30))
        )
    }
}
