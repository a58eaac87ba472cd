// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity
package import ValueSets

/// A version of the wire protocol. Different major versions are incompatible; of two minor versions the lower applies.
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

/// The first frame on a connection: which service the caller requests, and the limits of what it accepts.
package struct Hello: Sendable, Hashable {
    package var version: ProtocolVersion
    /// The app service's name.
    package var service: String
    /// The application that offers the service, if the caller addresses one in particular.
    package var targetApplication: String?
    /// The calling application's name, as the caller states it. Only the system is verified.
    package var application: String
    package var limits: PeerLimits
    /// The names of the features that the caller offers.
    package var features: Set<String>
    /// The names of the features without which the caller cannot use the connection. An entry that is not a feature
    /// name is read as the empty string.
    package var requires: Set<String>
    /// The stream that the connection carries, if ``service`` is ``StreamClaim/service``.
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

/// The host's response when it accepts the connection.
package struct Acceptance: Sendable, Hashable {
    package var version: ProtocolVersion
    /// The name of the application that accepts.
    package var application: String
    package var limits: PeerLimits
    /// The schemas of the service's messages.
    package var schemas: PublishedSchemas
    /// The names of the features that the host offers.
    package var features: Set<String>
    /// Keys that this version does not know, sent by a host that tests whether callers ignore them. Empty when read.
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

/// The schemas of a service's messages, each as a value set; `nil` if the service publishes none.
package struct PublishedSchemas: Sendable, Hashable {
    /// The schema for the caller's requests.
    package var request: ValueSet?
    /// The schema for the service's responses.
    package var response: ValueSet?
    /// The schema for the service's own requests to the caller.
    package var pushRequest: ValueSet?
    /// The schema for the caller's responses to the service's requests.
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

    /// A schema that allows every message. It replaces a schema that does not fit, because receivers apply a narrower
    /// rule where no schema is published.
    package static let unrestricted: ValueSet = ["base": "full", "furtherKeys": true]

    /// Replaces the largest schema, when all schemas together do not fit into the frame.
    ///
    /// - Returns: `true` if there was a schema to replace.
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

/// Explains a status other than success: a sentence for a person, a code for programs, and whether a retry may succeed.
package struct WireFailure: Error, Hashable {
    package var text: String
    /// The reason, for programs: a ``FailureCode`` or a code that this version does not know; `nil` if there is none.
    package var code: String?
    package var canRetry: Bool
    /// The port at which the same system accepts this connection instead. Only in a refusal.
    package var port: Int?
    /// The notice that the refusing system's account has withdrawn the link with the caller's. Only in a refusal. Not
    /// verified.
    package var withdrawal: [UInt8]?

    /// The maximum length of ``text``, in bytes of UTF-8. Longer texts are cut, so that a response with nothing but a
    /// failure fits into the smallest limit that a peer can have.
    package static let maxTextBytes = 512
    /// The maximum length of ``code``, in bytes. Longer codes are ignored.
    package static let maxCodeBytes = 64

    package init(_ text: String, code: FailureCode? = nil, canRetry: Bool = false, port: Int? = nil) {
        self.init(text, codeText: code?.rawValue, canRetry: canRetry, port: port)
    }

    /// Creates a failure with a code that may be unknown to this version.
    ///
    /// - Parameter code: a text for which ``isCode(_:)`` is `true`.
    package init(_ text: String, codeText code: String?, canRetry: Bool, port: Int? = nil) {
        let printable = text.withoutControlCharacters
        self.text = printable.utf8.count <= Self.maxTextBytes ? printable : Self.cut(printable)
        self.code = code
        self.canRetry = canRetry
        self.port = port
    }

    /// Cuts by bytes, not by characters, because a single character can be of any length.
    private static func cut(_ text: String) -> String {
        let ellipsis = "…"
        var end = text.utf8.index(text.startIndex, offsetBy: Self.maxTextBytes - ellipsis.utf8.count)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end]) + ellipsis
    }
}

// MARK: - As maps on the wire (Docs/wire-protocol.md, section 5). Unknown keys are ignored.

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
        // The other keys may differ in another major version. Such a hello is refused for its version alone.
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
            throw ValueSetError(.typeMismatch, "'\(key)' in the accept is not a dictionary")
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

    /// Reads the name of a service or an application; `nil` if the key is missing. Names are compared, so an invalid
    /// name is refused instead of corrected: the corrected name could be that of another service.
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
        map["withdrawal"] = self.withdrawal.map { .data(Data($0)) }
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
        if let withdrawal = map["withdrawal"]?.data, withdrawal.count == LinkWithdrawal.byteCount {
            self.withdrawal = Array(withdrawal)
        }
    }

    /// Whether the text is 1 to ``maxCodeBytes`` lower-case ASCII letters, digits, hyphens and dots. Codes are compared
    /// and printed unchanged.
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
    /// The limits that every peer supports.
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
        // This side never uses more than its own maximum, so larger values of the peer are clamped.
        self.init(
            messageBytes: Int(min(limit, UInt64(ConnectionLimits.maxMessageBytes))),
            window: Int(min(window, UInt64(ConnectionLimits.maxWindow))),
            windowBytes: Int(min(windowBytes, 1 << 30))
        )
    }
}
