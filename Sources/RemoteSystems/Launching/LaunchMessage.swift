// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// The built-in service that opens URIs for other systems (`Docs/wire/launching.md`).
enum Launch {
    static let service = "remote-systems.launch"
    static let maxApplications = 16
    static let maxApplicationIDBytes = 256

    static let launch = BuiltInMethod<LaunchMessage, LaunchResponse>("launch")

    static func isApplicationID(_ text: String) -> Bool {
        (1...Self.maxApplicationIDBytes).contains(text.utf8.count)
    }
}

/// A launch request.
struct LaunchMessage: BuiltInMessage, Hashable {
    var uri: LaunchURI
    var fallback: LaunchURI?
    var applications: [String]
    /// Whether only `applications` may open the URI.
    var isLimited = false
    var input: ValueSet?

    init(uri: LaunchURI, fallback: LaunchURI? = nil, applications: [String] = [], input: ValueSet? = nil) {
        self.uri = uri
        self.fallback = fallback
        self.applications = applications
        self.input = input
    }

    private enum CodingKeys: String, CodingKey {
        case uri = "Uri"
        case fallback = "Fallback"
        case applications = "Applications"
        case isLimited = "Only"
        case input = "Input"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let uri = try container.decode(String.self, forKey: .uri)
        let fallback = try container.decodeIfPresent(String.self, forKey: .fallback)
        let applications = try container.decodeIfPresent([Value].self, forKey: .applications) ?? []
        self.applications = applications.prefix(Launch.maxApplications).compactMap(\.string)
            .filter(Launch.isApplicationID)
        self.isLimited = try container.decodeIfPresent(Bool.self, forKey: .isLimited) ?? false
        self.input = try container.decodeIfPresent(ValueSet.self, forKey: .input)
        // Checked last, so that the derived schema has all keys: placeholders are not URIs.
        self.uri = try Self.read(uri)
        self.fallback = try fallback.map(Self.read)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.uri.description, forKey: .uri)
        try container.encodeIfPresent(self.fallback?.description, forKey: .fallback)
        if !self.applications.isEmpty { try container.encode(self.applications, forKey: .applications) }
        if self.isLimited { try container.encode(true, forKey: .isLimited) }
        try container.encodeIfPresent(self.input, forKey: .input)
    }

    private static func read(_ text: String) throws(InvalidMessage) -> LaunchURI {
        do {
            return try LaunchURI(text)
        } catch {
            throw InvalidMessage(error.message)
        }
    }
}

/// The response to a launch request.
struct LaunchResponse: BuiltInMessage, Hashable {
    var status: RemoteLaunchURIStatus
    var text: String?
    var canRetry = false
    var opened: RemoteLaunchURIResult.Opened?
    var application: String?

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

    private enum CodingKeys: String, CodingKey {
        case status = "Status"
        case text = "Text"
        case canRetry = "Retry"
        case opened = "Opened"
        case application = "Application"
    }

    /// Only the status is required. Other values of another form are ignored, because the URI may be open.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.status = RemoteLaunchURIStatus(rawValue: try container.decode(Int.self, forKey: .status))
        // Sanitizes the peer's text, because it is printed on terminals and in logs.
        self.text = (try? container.decodeIfPresent(String.self, forKey: .text)).map { WireFailure($0).text }
        self.canRetry = (try? container.decodeIfPresent(Bool.self, forKey: .canRetry)) ?? false
        self.opened = try? container.decodeIfPresent(RemoteLaunchURIResult.Opened.self, forKey: .opened)
        self.application = (try? container.decodeIfPresent(String.self, forKey: .application))
            .flatMap { Launch.isApplicationID($0) ? WireFailure($0).text : nil }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.status.rawValue, forKey: .status)
        try container.encodeIfPresent(self.text.map { WireFailure($0).text }, forKey: .text)
        if self.canRetry { try container.encode(true, forKey: .canRetry) }
        try container.encodeIfPresent(self.opened, forKey: .opened)
        try container.encodeIfPresent(self.application, forKey: .application)
    }

    func validate() throws(InvalidMessage) {
        guard self.status.rawValue >= 0 else { throw InvalidMessage("The status is negative.") }
    }
}
