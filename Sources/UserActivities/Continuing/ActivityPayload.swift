// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// The content of an activity as it is sent to the application that continues it (`Docs/wire/activities.md`).
struct ActivityPayload: Sendable, Hashable {
    /// The maximum number of keywords, and their length in bytes of UTF-8. More are left out.
    static let maxKeywords = 64
    static let maxKeywordBytes = 256
    /// The maximum length of an address or an identifier, in bytes.
    static let maxTextBytes = 4096

    /// The purpose of the content, which decides how long it may be.
    private enum Purpose {
        case handOff, saving

        var maxBytes: Int {
            switch self {
            case .handOff: UserActivityHost.maxPayloadBytes
            case .saving: SavedActivities.maxActivityBytes
            }
        }

        func tooLarge(_ bytes: Int) -> String {
            let has = "The content of the activity has \(bytes) bytes; at most \(self.maxBytes) can be"
            return switch self {
            case .handOff: "\(has) sent. Send large data over a stream."
            case .saving: "\(has) saved. Set 'requiredUserInfoKeys', so that only these keys are saved."
            }
        }
    }

    var type: String
    var userInfo: ValueSet
    var attributes: ActivityAttributes
    /// Whether the application did not save its newest state in time.
    var isStale = false

    var message: ValueSet {
        var message: ValueSet = ["Type": .string(self.type), "UserInfo": .dictionary(self.userInfo)]
        let attributes = self.attributes
        message["Title"] = attributes.title.map { .string($0) }
        message["Webpage"] = attributes.webpageURL.map { .url($0) }
        message["Referrer"] = attributes.referrerURL.map { .url($0) }
        if attributes.supportsContinuationStreams { message["Streams"] = true }
        if !attributes.keywords.isEmpty {
            message["Keywords"] = .array(attributes.keywords.sorted().map { .string($0) })
        }
        if !attributes.requiredUserInfoKeys.isEmpty {
            message["Required"] = .array(attributes.requiredUserInfoKeys.sorted().map { .string($0) })
        }
        message["Target"] = attributes.targetContentIdentifier.map { .string($0) }
        message["Identifier"] = attributes.persistentIdentifier.map { .string($0) }
        message["Version"] = attributes.payloadVersion.map { .integer(Int64($0)) }
        if self.isStale { message["Stale"] = true }
        return message
    }

    /// Creates the content of an activity of this application.
    ///
    /// - Throws: ``ContinuationError`` if the content breaks a rule or is too large.
    init(
        _ activity: UserActivity,
        documents: DocumentURLMapper = .none,
        isStale: Bool
    ) throws(ContinuationError) {
        self.type = activity.type
        do {
            self.userInfo = try documents.portable(activity.userInfo)
        } catch {
            throw ContinuationError(.payloadInvalid, error.message, side: .local, cause: error)
        }
        self.attributes = try Self.bounded(activity.attributes)
        self.isStale = isStale
        try self.checkContent(for: .handOff, side: .local)
    }

    /// The attributes with a title and keywords of a limited length.
    private static func bounded(_ attributes: ActivityAttributes) throws(ContinuationError) -> ActivityAttributes {
        var attributes = attributes
        attributes.title = attributes.title.flatMap { ActivityDescriptor.shown($0) }
        attributes.keywords = Set(
            attributes.keywords.filter { (1...Self.maxKeywordBytes).contains($0.utf8.count) }
                .sorted().prefix(Self.maxKeywords)
        )
        do {
            try attributes.check()
        } catch {
            throw ContinuationError(.payloadInvalid, error.message, side: .local, cause: error)
        }
        return attributes
    }

    /// The part of the content that a browser receives: the title and the web address; `nil` if there is none.
    var webpageOnly: ActivityPayload? {
        guard let address = self.attributes.webpageURL else { return nil }
        var part = self
        part.userInfo = [:]
        part.attributes = ActivityAttributes()
        part.attributes.title = self.attributes.title
        part.attributes.webpageURL = address
        return part
    }

    /// Reads the content of an activity of another application. Unknown fields are ignored.
    ///
    /// - Parameter documents: translates URLs of documents.
    /// - Throws: ``ContinuationError`` if the content breaks a rule or is not of the offered type.
    init(
        _ message: ValueSet,
        offeredAs type: String,
        documents: DocumentURLMapper = .none
    ) throws(ContinuationError) {
        try self.init(message, offeredAs: type, for: .handOff)
        do {
            self.userInfo = try documents.local(self.userInfo)
        } catch {
            throw ContinuationError(.payloadInvalid, error.message, side: error.side, cause: error)
        }
    }

    private init(
        _ message: ValueSet,
        offeredAs type: String,
        for purpose: Purpose
    ) throws(ContinuationError) {
        guard message["Type"]?.string == type, let userInfo = message["UserInfo"]?.dictionary else {
            throw ContinuationError(
                .payloadInvalid,
                "The content of the activity is not of the offered type.",
                side: .remote
            )
        }
        self.type = type
        self.userInfo = userInfo
        self.isStale = message["Stale"]?.bool ?? false
        var attributes = ActivityAttributes()
        attributes.title = message["Title"]?.string.flatMap { ActivityDescriptor.shown($0) }
        attributes.webpageURL = message["Webpage"]?.url
        attributes.referrerURL = message["Referrer"]?.url
        attributes.supportsContinuationStreams = message["Streams"]?.bool ?? false
        attributes.keywords = Self.texts(message["Keywords"])
        attributes.requiredUserInfoKeys = Self.texts(message["Required"])
        attributes.targetContentIdentifier = message["Target"]?.string
        attributes.persistentIdentifier = message["Identifier"]?.string
        attributes.payloadVersion = message["Version"]?.int
        self.attributes = attributes
        do {
            try attributes.check()
        } catch {
            throw ContinuationError(.payloadInvalid, error.message, side: .remote, cause: error)
        }
        try self.checkContent(for: purpose, side: .remote)
    }

    /// Creates the content of an activity of a browser.
    ///
    /// - Throws: ``ContinuationError`` if the address breaks a rule.
    init(webpage: URL, title: String?) throws(ContinuationError) {
        let activity = UserActivity(type: UserActivity.browsingWeb, title: title)
        activity.webpageURL = webpage
        try self.init(activity, isStale: false)
    }

    /// Creates the content of an activity that is saved on this system: the required keys, if there are any. URLs of
    /// files stay as they are.
    init(saving activity: UserActivity) throws(ContinuationError) {
        self.type = activity.type
        self.attributes = try Self.bounded(activity.attributes)
        let (content, required) = (activity.userInfo, self.attributes.requiredUserInfoKeys)
        let missing = required.filter { content[$0] == nil }.sorted()
        guard missing.isEmpty else {
            throw ContinuationError(
                .payloadInvalid,
                "The content lacks required keys: \(missing.prefix(8).joined(separator: ", ")). Set them before the "
                    + "activity is saved.",
                side: .local
            )
        }
        self.userInfo = content
        if !required.isEmpty {
            for (key, _) in content where !required.contains(key) { self.userInfo[key] = nil }
        }
        try self.checkContent(for: .saving, side: .local)
    }

    /// Reads the content of an activity that was saved on this system.
    init(saved message: ValueSet, type: String) throws(ContinuationError) {
        try self.init(message, offeredAs: type, for: .saving)
    }

    private static func texts(_ value: Value?) -> Set<String> {
        Set(
            (value?.array ?? []).prefix(Self.maxKeywords).compactMap(\.string).filter { text in
                (1...Self.maxKeywordBytes).contains(text.utf8.count)
            }
        )
    }

    /// The length of the content, in bytes.
    var bytes: Int { (try? self.message.encodedSize()) ?? .max }

    private func checkContent(for purpose: Purpose, side: RemoteSystemError.Side) throws(ContinuationError) {
        do {
            try AllowedValueSchema.userActivity.validate(self.userInfo)
        } catch {
            throw ContinuationError(
                .payloadInvalid,
                "The content of the activity cannot be sent: \(error)",
                side: side,
                cause: error
            )
        }
        if self.type == UserActivity.browsingWeb, !self.userInfo.isEmpty || self.attributes.webpageURL == nil {
            throw ContinuationError(
                .payloadInvalid,
                "An activity of a browser has a web address and no other content.",
                side: side
            )
        }
        let bytes = self.bytes
        guard bytes <= purpose.maxBytes else {
            throw ContinuationError(.payloadTooLarge, purpose.tooLarge(bytes), side: side)
        }
    }
}

extension UserActivity {
    /// Checks whether the content can be sent as it is now.
    ///
    /// - Throws: ``ContinuationError`` if the content breaks a rule or is too large.
    package func checkContent() throws(ContinuationError) {
        _ = try ActivityPayload(self, isStale: false)
    }
}

extension ActivityAttributes {
    /// Checks the addresses and the identifiers.
    ///
    /// - Throws: `RemoteSystemError` with the code `invalidArgument`.
    func check() throws(RemoteSystemError) {
        func invalid(_ text: String) -> RemoteSystemError { RemoteSystemError(.invalidArgument, text, side: .local) }
        for (url, name) in [(self.webpageURL, "web address"), (self.referrerURL, "referrer")] {
            guard let url else { continue }
            let scheme = url.scheme?.lowercased()
            guard scheme == "http" || scheme == "https", url.host()?.isEmpty == false else {
                throw invalid("The \(name) of an activity begins with http:// or https:// and has a host.")
            }
        }
        guard [self.webpageURL, self.referrerURL].allSatisfy({ $0?.user() == nil && $0?.password() == nil }) else {
            throw invalid("An address of an activity must not contain a user name or a password.")
        }
        let texts = [
            self.webpageURL?.absoluteString, self.referrerURL?.absoluteString, self.targetContentIdentifier,
            self.persistentIdentifier,
        ]
        guard texts.allSatisfy({ ($0?.utf8.count ?? 0) <= ActivityPayload.maxTextBytes }) else {
            throw invalid("An address or identifier of an activity has at most \(ActivityPayload.maxTextBytes) bytes.")
        }
        guard self.requiredUserInfoKeys.count <= ActivityPayload.maxKeywords else {
            throw invalid("An activity has at most \(ActivityPayload.maxKeywords) required keys.")
        }
    }
}
