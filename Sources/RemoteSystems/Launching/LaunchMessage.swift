// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// The built-in service that opens URIs for other systems (`Docs/wire/launching.md`).
enum Launch {
    static let service = "remote-systems.launch"
    static let maxApplications = 16
    static let maxApplicationIDBytes = 256
}

/// A launch request.
struct LaunchMessage: Sendable, Hashable {
    var uri: LaunchURI
    var fallback: LaunchURI?
    var applications: [String]
    /// Whether only `applications` may open the URI.
    var isLimited = false
    var input: ValueSet?

    var valueSet: ValueSet {
        var message: ValueSet = ["Type": "launch", "Uri": .string(self.uri.description)]
        message["Fallback"] = self.fallback.map { .string($0.description) }
        if !self.applications.isEmpty { message["Applications"] = .array(self.applications.map { .string($0) }) }
        if self.isLimited { message["Only"] = true }
        message["Input"] = self.input.map { .dictionary($0) }
        return message
    }

    init(uri: LaunchURI, fallback: LaunchURI? = nil, applications: [String] = [], input: ValueSet? = nil) {
        self.uri = uri
        self.fallback = fallback
        self.applications = applications
        self.input = input
    }

    /// Reads a request.
    ///
    /// - Throws: ``Malformed`` for any error in it. Nothing of a malformed request is executed.
    init(_ message: ValueSet) throws(Malformed) {
        guard message["Type"]?.string == "launch" else {
            throw Malformed("This request is not known here.", code: .requestUnknown)
        }
        guard let uri = message["Uri"]?.string else { throw Malformed("The request contains no URI.") }
        self.uri = try Self.read(uri)
        switch message["Fallback"] {
        case nil: self.fallback = nil
        case .string(let text)?: self.fallback = try Self.read(text)
        default: throw Malformed("The fallback is not a string.")
        }
        switch message["Applications"] {
        case nil: self.applications = []
        case .array(let values)?:
            self.applications = values.prefix(Launch.maxApplications).compactMap(\.string)
                .filter { (1...Launch.maxApplicationIDBytes).contains($0.utf8.count) }
        default: throw Malformed("The applications are not an array.")
        }
        switch message["Only"] {
        case nil: self.isLimited = false
        case .bool(let isLimited)?: self.isLimited = isLimited
        default: throw Malformed("'Only' is not a boolean.")
        }
        switch message["Input"] {
        case nil: self.input = nil
        case .dictionary(let input)?: self.input = input
        default: throw Malformed("The input data is not a dictionary.")
        }
    }

    private static func read(_ text: String) throws(Malformed) -> LaunchURI {
        do {
            return try LaunchURI(text)
        } catch {
            throw Malformed(error.message)
        }
    }

    /// Why a request cannot be read.
    struct Malformed: Error {
        var text: String
        var code: FailureCode

        init(_ text: String, code: FailureCode = .requestInvalid) {
            self.text = text
            self.code = code
        }
    }
}

/// The response to a launch request.
struct LaunchResponse: Sendable, Hashable {
    var status: RemoteLaunchURIStatus
    var text: String?
    var canRetry = false
    var opened: RemoteLaunchURIResult.Opened?
    var application: String?

    var valueSet: ValueSet {
        var message: ValueSet = ["Status": self.status.field]
        message["Text"] = self.text.map { .string(WireFailure($0).text) }
        if self.canRetry { message["Retry"] = true }
        message["Opened"] = self.opened.map { .string($0.rawValue) }
        message["Application"] = self.application.map { .string($0) }
        return message
    }

    init(_ status: RemoteLaunchURIStatus, _ text: String? = nil, canRetry: Bool = false) {
        self.status = status
        self.text = text
        self.canRetry = canRetry
    }

    init(_ decision: LaunchURIDecision, opened: RemoteLaunchURIResult.Opened, application: String) {
        switch decision.kind {
        case .opened(let id):
            self.init(.success)
            self.opened = opened
            self.application = id ?? application
        case .notOpened(let status, let text, let canRetry):
            self.init(status, text, canRetry: canRetry)
            self.application = application
        }
    }

    /// Reads a response; `nil` when it is malformed.
    init?(_ message: ValueSet) {
        guard let status = RemoteLaunchURIStatus(message["Status"]) else { return nil }
        // Sanitizes the peer's text, because it is printed on terminals and in logs.
        self.init(
            status,
            message["Text"]?.string.map { WireFailure($0).text },
            canRetry: message["Retry"]?.bool ?? false
        )
        self.opened = message["Opened"]?.string.flatMap { RemoteLaunchURIResult.Opened(rawValue: $0) }
        self.application = message["Application"]?.string.flatMap {
            (1...Launch.maxApplicationIDBytes).contains($0.utf8.count) ? WireFailure($0).text : nil
        }
    }
}
