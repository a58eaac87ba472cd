// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import UserNotifications
internal import ValueSets

/// What the desktop portal is able to do (its properties `version` and `SupportedOptions`).
struct PortalAbilities: Hashable {
    /// The version of the interface. It refuses what its version does not know.
    var version: Int = 1
    /// Whether the user can enter a text at a button.
    var showsTextField = false

    private static let (category, purpose) = ("im.received", "im.reply-with-text")

    init() {}

    /// - Parameter properties: the properties of the interface.
    init(_ properties: ValueSet) {
        let options = properties["SupportedOptions"]?.dictionary
        func supports(_ option: String, _ value: String) -> Bool {
            options?[option]?.array?.contains(.string(value)) ?? false
        }
        self.version = properties["version"]?.int ?? 1
        self.showsTextField =
            self.version >= 2 && supports("category", Self.category)
            && supports("button-purpose", Self.purpose)
    }
}

/// A notification as the portal gets it, and what the user does with it.
enum PortalNotification {
    /// The name of the actions. Each has a target of its own. One that begins with `app.` would be an action of the
    /// application's D-Bus object.
    static let action = "respond"

    /// The dictionary of `AddNotification`.
    ///
    /// - Parameter number: identifies this content.
    static func dictionary(
        _ presented: PresentedNotification,
        _ number: UInt64,
        for abilities: PortalAbilities
    ) -> ValueSet {
        var notification = DesktopNotification(presented, isLocked: false)
        // The command does not reach a program in a sandbox.
        notification.fallback = nil
        // A portal opens no files for the program, which may see others than the desktop.
        let actions = notification.actions.filter { action in
            action.key != DesktopNotification.mediaKey && (!action.takesText || abilities.showsTextField)
        }
        let buttons = actions.filter { $0.key != DesktopNotification.Action.click }.map { action in
            Self.button(action, number)
        }
        var body = notification.markupBody(showsAll: true, isMarkup: false)
        // It is plain text. Backends of version 1 nevertheless pass it on to servers that read markup, or to others
        // that do not. All of them show similar characters in the same way.
        if abilities.version < 2 { body = body.withoutTags }
        var set: ValueSet = [
            "title": .string(notification.summary),
            "body": .string(body),
            "priority": .string(Self.priority(presented.content.interruptionLevel)),
            "default-action": .string(Self.action),
            "default-action-target": .string(Self.target(number, DesktopNotification.Action.click)),
        ]
        if !buttons.isEmpty { set["buttons"] = .array(buttons) }
        if abilities.version >= 2 {
            set["sound"] = .string(notification.isSilent ? "silent" : "default")
            // Only the desktop knows whether the session is locked.
            set["display-hint"] = ["hide-content-on-lock-screen"]
        }
        if actions.contains(where: \.takesText) { set["category"] = "im.received" }
        return set
    }

    private static func button(_ action: DesktopNotification.Action, _ number: UInt64) -> Value {
        var button: ValueSet = [
            "label": .string(action.label), "action": .string(Self.action),
            "target": .string(Self.target(number, action.key)),
        ]
        if action.takesText { button["purpose"] = "im.reply-with-text" }
        return .dictionary(button)
    }

    private static func priority(_ level: NotificationInterruptionLevel) -> String {
        switch level {
        case .passive: "low"
        case .active: "normal"
        case .timeSensitive: "high"
        case .critical: "urgent"
        }
    }

    private static func target(_ number: UInt64, _ key: String) -> String { "\(number) \(key)" }

    /// The number of the content and the key of the action in a target.
    static func read(_ target: String) -> (number: UInt64, key: String)? {
        let parts = target.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let number = UInt64(parts[0]) else { return nil }
        return (number, String(parts[1]))
    }
}
