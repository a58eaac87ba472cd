// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The sound of a notification.
///
/// A desktop makes it once, if its notification server makes sounds. Where no sound of the name is found, the server
/// decides what is heard.
public enum NotificationSound: Sendable, Hashable {
    /// The sound that the desktop uses for notifications.
    case standard
    /// A sound of the freedesktop sound theme, such as `message-new-instant`, or a file in the directory that the
    /// manifest of the application names (`notificationSounds`), such as `chime.oga`. Only the host daemon of the
    /// application's own system finds a file.
    ///
    /// Valid length: 1–128 bytes of UTF-8, without control characters. Adding or sending a notification with another
    /// name throws ``NotificationError`` with the code ``NotificationError/Code/invalidContent``.
    case named(String)

    /// The name in payloads: `default` is the standard sound.
    public var name: String {
        switch self {
        case .standard: "default"
        case .named(let name): name
        }
    }

    /// Creates a sound from its name in payloads.
    ///
    /// - Parameter name: `default` for ``standard``, or the name of a sound, as in ``named(_:)``. Not checked here.
    public init(name: String) { self = name == "default" ? .standard : .named(name) }
}
