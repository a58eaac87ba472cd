// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What a notification server is able to do (Desktop Notifications Specification 1.3, `GetCapabilities`).
struct NotificationServerAbilities: Hashable {
    /// What the server calls itself.
    var software = ""
    /// The names of its capabilities; `nil` if it does not state them.
    var capabilities: Set<String>?

    /// What is read of the responses: servers state about a dozen short names. The lengths are in bytes.
    private static let (maxNames, maxNameLength, maxSoftwareLength) = (256, 64, 64)

    /// Reads the server's name in the response to `GetServerInformation`. Empty if there is none.
    static func software(in response: OpaquePointer) -> String {
        let name = unsafe BusSignal.texts(of: response, max: 1).first ?? ""
        return name.cut(toBytes: Self.maxSoftwareLength)
    }

    /// Reads the response to `GetCapabilities`; `nil` if it has another type.
    static func capabilities(in response: OpaquePointer) -> Set<String>? {
        guard let names = unsafe BusSignal.list(of: response, max: Self.maxNames) else { return nil }
        return Set(names.filter { $0.utf8.count <= Self.maxNameLength })
    }

    /// Whether it draws a button for a click on the notification itself.
    var drawsClick: Bool { self.software == "Xfce Notify Daemon" }
    /// Whether it shows buttons.
    var showsActions: Bool { self.capabilities?.contains("actions") ?? true }
    /// Whether it shows a body, and reads it as markup.
    var showsBody: Bool { self.capabilities?.contains("body") ?? true }
    var readsMarkup: Bool { self.capabilities?.contains("body-markup") ?? true }
    /// Whether it plays sounds.
    var playsSounds: Bool { self.capabilities?.contains("sound") ?? false }
    /// Whether it makes the device vibrate, unless the notification has a hint of its own.
    var givesFeedback: Bool { self.software == "Phosh Notify Daemon" }
    /// Whether it shows a text field. Not part of the specification: Plasma has it, and some others.
    var showsTextField: Bool { self.capabilities?.contains("inline-reply") ?? false }
}

extension DesktopNotification {
    /// The key of the action that has a text field.
    static let replyKey = "inline-reply"

    /// The actions that a server shows.
    func actions(for abilities: NotificationServerAbilities) -> [Action] {
        self.actions.filter { action in
            if action.takesText { return abilities.showsTextField }
            // A server without buttons may still report a click.
            guard action.key == Action.click else { return abilities.showsActions }
            // Not the same button twice.
            return !abilities.drawsClick
                || !self.actions.contains { $0.key != action.key && $0.label == action.label }
        }
    }

    private func summary(for abilities: NotificationServerAbilities) -> String {
        guard let source, !abilities.showsBody else { return self.summary }
        return "\(self.summary) – \(source)"
    }

    /// The arguments of the call `Notify`.
    ///
    /// - Parameter id: the notification that is replaced; 0 for none.
    func arguments(replacing id: UInt32, for abilities: NotificationServerAbilities) -> [MessageBus.Argument] {
        let actions = self.actions(for: abilities)
        let showsAll = self.actions.allSatisfy { $0.key == Action.click || actions.contains($0) }
        let body = self.markupBody(showsAll: showsAll, isMarkup: abilities.readsMarkup)
        var hints: [(String, MessageBus.Hint)] = [
            ("category", .string("device")), ("urgency", .byte(self.urgency.rawValue)),
            (DesktopCall.ownHint, .bool(true)),
        ]
        if self.isSilent {
            hints.append(("suppress-sound", .bool(true)))
            if abilities.givesFeedback { hints.append(("x-phosh-fb-profile", .string("none"))) }
        } else if let soundPath, abilities.playsSounds {
            hints.append(("sound-file", .string(soundPath)))
        } else if let soundName, abilities.playsSounds {
            hints.append(("sound-name", .string(soundName)))
        }
        if let desktopEntry { hints.append(("desktop-entry", .string(desktopEntry))) }
        if let imagePath {
            hints.append(("image-path", .string(URL(filePath: imagePath, directoryHint: .notDirectory).absoluteString)))
        } else if let iconName {
            hints.append(("image-path", .string(iconName)))
        }
        if self.isResident { hints.append(("resident", .bool(true))) }
        if let textField, abilities.showsTextField {
            hints.append(("x-kde-reply-placeholder-text", .string(textField.placeholder)))
            hints.append(("x-kde-reply-submit-button-text", .string(textField.button)))
        }
        return [
            .string("RemoteSystems"), .uint32(id), .string(""), .string(self.summary(for: abilities)),
            // A server may read markup and not state it. A tag could hide the sender, which is the last line.
            .string(abilities.readsMarkup ? body : body.withoutTags),
            .strings(actions.flatMap { [$0.takesText ? Self.replyKey : $0.key, $0.label] }), .hints(hints),
            // 0: never expires; -1: the server decides.
            .int32(self.isResident ? 0 : -1),
        ]
    }
}
