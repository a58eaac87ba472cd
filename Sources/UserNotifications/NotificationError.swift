// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why a notification was not scheduled, delivered or shown.
public struct NotificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure. Later versions may add codes: write a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, CaseIterable {
            case invalidContent, limitExceeded, payloadTooLarge, categoryUnknown, tooManyPending, notAuthorized
            case triggerInvalid, locationUnavailable, rateLimited, requestUnknown, notShown, storeFailed
            case attachmentInvalid
        }

        private let kind: Kind

        /// The code's name, as the command line prints it.
        public var description: String { self.kind.rawValue }

        static var all: [Code] { Kind.allCases.map { Code(kind: $0) } }

        /// A field is missing, has another type, or has a value that is not allowed.
        public static let invalidContent = Code(kind: .invalidContent)
        /// A field or the number of entries exceeds its limit (``NotificationLimits``).
        public static let limitExceeded = Code(kind: .limitExceeded)
        /// The whole content exceeds ``NotificationLimits/remotePayloadBytes``.
        public static let payloadTooLarge = Code(kind: .payloadTooLarge)
        /// The content names a category that the application has not set.
        public static let categoryUnknown = Code(kind: .categoryUnknown)
        /// The application has ``NotificationLimits/pendingRequests`` pending requests.
        public static let tooManyPending = Code(kind: .tooManyPending)
        /// The user or the system does not permit the application or the sender to show notifications.
        public static let notAuthorized = Code(kind: .notAuthorized)
        /// The trigger can never fire, or its interval is out of range.
        public static let triggerInvalid = Code(kind: .triggerInvalid)
        /// The system has no location service, or does not permit its use.
        public static let locationUnavailable = Code(kind: .locationUnavailable)
        /// The sender has sent too many notifications. It may retry later.
        public static let rateLimited = Code(kind: .rateLimited)
        /// The system does not have the notification, or no longer.
        public static let requestUnknown = Code(kind: .requestUnknown)
        /// No server or terminal shows the notification.
        public static let notShown = Code(kind: .notShown)
        /// The store of notifications cannot be read or written.
        public static let storeFailed = Code(kind: .storeFailed)
        /// The file of an attachment cannot be read, has an unknown format, or is too large.
        public static let attachmentInvalid = Code(kind: .attachmentInvalid)
    }

    /// The kind of failure, for programs.
    public var code: Code
    /// A sentence for people: what happened and what to do.
    public var message: String
    /// The place of the failure in the content, such as `actions[2].title`; `nil` if no field causes it.
    public var field: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A sentence for people: what happened and what to do.
    ///   - field: The place of the failure in the content. Defaults to `nil`.
    public init(_ code: Code, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
    }

    /// Whether the same request may succeed later.
    var canRetry: Bool { self.code == .rateLimited }

    /// The place of the failure and the message.
    public var description: String { self.field.map { "\($0): \(self.message)" } ?? self.message }

    /// The same error with a place that begins with a field or an element.
    func inside(_ place: String) -> NotificationError {
        var error = self
        guard let field else {
            error.field = place
            return error
        }
        error.field = field.hasPrefix("[") ? place + field : "\(place).\(field)"
        return error
    }
}
