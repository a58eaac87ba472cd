// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Which notifications are wanted, and which ones the server shows.
struct NotificationTable {
    /// What brings the server closer to what is wanted.
    enum Step: Equatable {
        /// Show a notification in the place of another one; 0 for none.
        case notify(DesktopNotification, replaces: UInt32)
        case close(UInt32)
    }

    private struct Shown {
        var id: UInt32
        /// `nil` for one that an earlier process has shown.
        var content: DesktopNotification?
    }

    private var wanted: [DesktopNotification] = []
    private var shown: [String: Shown] = [:]
    /// The notifications with an action that the user has chosen, and replaced ones. Some servers have closed them,
    /// others have not.
    private var used: [UInt32] = []
    /// The wanted notifications that the user has closed. Their content at that time: a new one is shown again.
    private var dismissed: [String: DesktopNotification] = [:]
    /// The wanted notifications with which the user has done something. Their content at that time. What follows from
    /// it is wanted next: to show them again before would only flicker.
    private var chosen: [String: DesktopNotification] = [:]
    /// The notifications that the server was asked to show, without a response so far. None is sent twice: a server
    /// that is only slow would show both.
    private var sent: [String: DesktopNotification] = [:]
    /// The wanted notifications that the server has refused. Their content at that time: a new one is tried.
    private var refused: [String: DesktopNotification] = [:]
    /// The wanted notifications that were tried again after the server has refused them as repetitions.
    private var retried: [String: DesktopNotification] = [:]
    /// The wanted notifications whose sound was made. It is made once: not again after the screen was unlocked, or by a
    /// new server.
    private var heard: [String: DesktopNotification] = [:]

    /// Sets all notifications that are wanted. Of several with one key, the first one counts.
    mutating func want(_ notifications: [DesktopNotification]) {
        var keys: Set<String> = []
        self.wanted = notifications.filter { keys.insert($0.key).inserted }
        self.chosen = [:]
        for (key, content) in self.dismissed where !self.wanted.contains(content) { self.dismissed[key] = nil }
        for (key, content) in self.refused where !self.wanted.contains(content) { self.refused[key] = nil }
        for (key, content) in self.retried where !self.wanted.contains(content) { self.retried[key] = nil }
        // A locked screen hides the content meanwhile.
        self.heard = self.heard.filter { keys.contains($0.key) }
    }

    /// Whether the server shows nothing, and was not asked for anything that it may still show.
    var isEmpty: Bool { self.shown.isEmpty && self.used.isEmpty && self.sent.isEmpty }

    /// The next step, in the order in which notifications are wanted; `nil` if the server shows what is wanted.
    var nextStep: Step? {
        if let id = self.used.first { return .close(id) }
        for notification in self.wanted
        where self.dismissed[notification.key] == nil && self.sent[notification.key] == nil
            && self.chosen[notification.key] != notification
        {
            let present = self.shown[notification.key]
            guard self.refused[notification.key] != notification else {
                // What is shown in its place is out of date: on a locked screen, the text for an unlocked one.
                if let present, present.content != notification { return .close(present.id) }
                continue
            }
            if present?.content != notification { return .notify(notification, replaces: present?.id ?? 0) }
        }
        let keys = Set(self.wanted.map(\.key))
        return self.shown.filter { !keys.contains($0.key) }.map(\.value.id).min().map { .close($0) }
    }

    /// The server was asked to show a notification. The next response about it is ``notified(_:as:)`` or
    /// ``refused(_:)``.
    mutating func send(_ notification: DesktopNotification) { self.sent[notification.key] = notification }

    /// The server states that it shows a notification under a number.
    ///
    /// - Returns: whether that can be true. 0 is no number, and two notifications have different ones.
    mutating func notified(_ notification: DesktopNotification, as id: UInt32) -> Bool {
        self.sent[notification.key] = nil
        guard id != 0, !self.shown.contains(where: { $0.value.id == id && $0.key != notification.key }) else {
            self.refused(notification)
            return false
        }
        // A server that does not replace shows both.
        if let replaced = self.shown[notification.key], replaced.id != id { self.used.append(replaced.id) }
        self.shown[notification.key] = Shown(id: id, content: notification)
        self.retried[notification.key] = nil
        return true
    }

    /// Whether the sound of a notification was made.
    func wasHeard(_ notification: DesktopNotification) -> Bool { self.heard[notification.key] == notification }

    /// The server shows a notification.
    ///
    /// - Returns: whether its sound is made now.
    mutating func isHeard(_ notification: DesktopNotification) -> Bool {
        guard !notification.isSilent, !self.wasHeard(notification) else { return false }
        self.heard[notification.key] = notification
        return true
    }

    /// An earlier process has shown a notification under a number. It is replaced by what is wanted.
    mutating func adopt(_ key: String, id: UInt32) {
        guard self.shown[key] == nil, !self.shown.values.contains(where: { $0.id == id }) else { return }
        self.shown[key] = Shown(id: id)
    }

    /// The server has refused to show a notification, or there is none. Others are not affected.
    mutating func refused(_ notification: DesktopNotification) {
        self.sent[notification.key] = nil
        self.refused[notification.key] = notification
    }

    /// The server, or what it allows, has changed. What was refused is tried again.
    mutating func retry() { self.refused = [:] }

    /// The server has refused a notification as a repetition.
    ///
    /// - Returns: whether it is tried again. That is done once.
    mutating func retriesRepetition(_ notification: DesktopNotification) -> Bool {
        guard self.retried[notification.key] != notification else { return false }
        self.retried[notification.key] = notification
        return true
    }

    /// The server may show now what it has refused.
    mutating func retry(_ notification: DesktopNotification) {
        guard self.refused[notification.key] == notification else { return }
        self.refused[notification.key] = nil
    }

    /// The server has closed a notification, whether it confirms that or not.
    mutating func closed(_ id: UInt32) {
        self.used.removeAll { $0 == id }
        self.shown = self.shown.filter { $0.value.id != id }
    }

    /// Whether the server shows one of these notifications under a number.
    func holds(_ id: UInt32) -> Bool { self.used.contains(id) || self.shown.values.contains { $0.id == id } }

    /// The server reports that a notification is gone.
    ///
    /// - Returns: its content, if the user or the time has closed one that is still wanted.
    mutating func reportedClosed(_ id: UInt32) -> DesktopNotification? {
        guard let (key, present) = self.shown.first(where: { $0.value.id == id }) else { return nil }
        self.shown[key] = nil
        // The number is that of a content that was used; the report may concern it, though it has been replaced since.
        guard !self.used.contains(id) else { return nil }
        // A newer one with the same key is shown next.
        guard let content = present.content, self.wanted.contains(content) else { return nil }
        self.dismissed[key] = content
        return content
    }

    /// The content that the server shows under a number; `nil` if there is none, or an earlier process has shown it.
    private func content(_ id: UInt32) -> DesktopNotification? {
        self.shown.values.first { $0.id == id }.flatMap(\.content)
    }

    /// The user has used a notification. A second report about it does not count.
    private mutating func use(_ content: DesktopNotification, _ id: UInt32) {
        self.shown[content.key] = nil
        self.used.append(id)
        self.chosen[content.key] = content
    }

    /// The server reports an action. The notification is then closed, and shown again under another number if it is
    /// still wanted by the next ``want(_:)``: a server that closes it after the action may report that only after the
    /// content was replaced.
    ///
    /// - Returns: the content that the user has seen; `nil` for a number or an action that it does not have.
    mutating func activated(_ id: UInt32, action: String) -> DesktopNotification? {
        // The server never got the key of an action with a text.
        guard let content = self.content(id),
            content.actions.contains(where: { $0.key == action && !$0.takesText })
        else { return nil }
        self.use(content, id)
        return content
    }

    /// The server reports a text that the user has typed. The notification is then closed, as after an action.
    ///
    /// - Returns: the content that the user has seen, and the action that takes the text; `nil` if none does.
    mutating func replied(_ id: UInt32) -> (content: DesktopNotification, action: String)? {
        guard let content = self.content(id), let action = content.actions.first(where: \.takesText)?.key else {
            return nil
        }
        self.use(content, id)
        return (content, action)
    }

    /// The server has ended. A new one shows everything that is wanted.
    mutating func serverEnded() {
        self.shown = [:]
        self.sent = [:]
        self.used = []
        self.chosen = [:]
        self.retried = [:]
    }
}
