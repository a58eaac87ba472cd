// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The sound of a notification.
public enum NotificationSound: Sendable, Hashable {
    /// The sound that the desktop uses for notifications.
    case standard
    /// A sound of the freedesktop sound theme, such as `message-new-instant`, or a file in the directory that the
    /// manifest of the application names (`notificationSounds`), such as `chime.oga`. Only the host daemon of the
    /// application's own system finds a file.
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
    /// - Parameter name: `default` for the standard sound, or the name of a sound.
    public init(name: String) { self = name == "default" ? .standard : .named(name) }
}
