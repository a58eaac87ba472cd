// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The limits of notifications. A value beyond its limit is an error and never cut.
public enum NotificationLimits {
    /// The maximum length of an identifier, in bytes of UTF-8. Valid identifiers have at least 1.
    public static let identifierBytes = 128
    /// The maximum length of a title, a subtitle and a button's title, in bytes of UTF-8.
    public static let titleBytes = 512
    /// The maximum length of a body, in bytes of UTF-8.
    public static let bodyBytes = 8192
    /// The maximum length of the text that a user enters, in bytes of UTF-8.
    public static let userTextBytes = 4096
    /// The maximum size of the user info of a local notification, in bytes of its encoding.
    public static let userInfoBytes = 16_384
    /// The maximum nesting depth of the user info. The outermost dictionary is level 1.
    public static let userInfoDepth = 16
    /// The maximum size of a remote notification, in bytes of its encoding.
    public static let remotePayloadBytes = 4096
    /// The maximum number of actions of one category. Desktops show about three.
    public static let actions = 10
    /// The maximum number of attachments of one notification. Their sizes: ``NotificationAttachmentType/maxBytes``.
    public static let attachments = 8
    /// The maximum number of intent identifiers of one category.
    public static let intentIdentifiers = 16
    /// The maximum number of categories of one application.
    public static let categories = 64
    /// The maximum number of pending requests of one application.
    public static let pendingRequests = 64
    /// The maximum of a badge.
    public static let badge = 999_999
}
