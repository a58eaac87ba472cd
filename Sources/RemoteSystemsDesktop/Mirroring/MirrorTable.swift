// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What the desktop's notification server shows, as far as the user's other systems show it, too.
///
/// A value type without a bus: it gets what a monitor of the bus has seen, and says what follows.
struct MirrorTable {
    /// A message on the bus.
    enum Message: Sendable, Hashable {
        case called(DesktopCall, by: String, serial: UInt32)
        /// The server's response to a call: the number of the notification; `nil` for an error.
        case returned(UInt32?, by: String, to: String, serial: UInt32)
        /// The server does not show the notification any more.
        case closed(UInt32, Reason)
        /// A program asked the server to close a notification, which it may not show any more.
        case withdrawn(UInt32)
        /// The server has ended, and with it everything that it has shown.
        case serverEnded
    }

    /// Why the server does not show a notification any more.
    enum Reason: UInt32, Sendable, Hashable {
        case expired = 1, dismissed, closed, undefined
    }

    enum Action: Hashable {
        /// The other systems are to show the content, in place of an earlier one with the same identifier.
        case send(DesktopCall, identifier: UUID, delivery: UUID)
        case end(identifier: UUID, isDismissed: Bool)
        case refused(MirrorRules.Refusal)
    }

    private struct Call: Hashable {
        var caller: String
        var serial: UInt32
    }

    private struct Shown {
        /// Stays the same while the content changes.
        var identifier: UUID
        /// Of this content only: an older one that ends elsewhere does not end it.
        var delivery: UUID
        var call: DesktopCall
        /// The unique bus name of the server.
        var server: String
        var number: UInt64
    }

    /// The maximum number of calls that wait for a response. A server responds to each.
    private static let maxCalls = 64
    /// The maximum number of notifications that are followed, more than are mirrored.
    private static let maxShown = 64

    private let rules: MirrorRules
    private var calls: [(Call, DesktopCall)] = []
    private var shown: [UInt32: Shown] = [:]
    private var lastNumber: UInt64 = 0

    init(_ rules: MirrorRules) { self.rules = rules }

    mutating func received(_ message: Message) -> [Action] {
        switch message {
        case .called(let call, let caller, let serial):
            self.calls.append((Call(caller: caller, serial: serial), call))
            if self.calls.count > Self.maxCalls { self.calls.removeFirst() }
            return []
        case .returned(let id, let server, let caller, let serial):
            let key = Call(caller: caller, serial: serial)
            guard let index = self.calls.firstIndex(where: { $0.0 == key }) else { return [] }
            let call = self.calls.remove(at: index).1
            return id.map { self.shows(call, at: $0, server) } ?? []
        case .closed(let id, let reason):
            // The popup has gone because of its age. The user may not have seen it.
            guard reason != .expired else { return [] }
            return self.end(id, isDismissed: reason == .dismissed)
        case .withdrawn(let id):
            return self.end(id, isDismissed: false)
        case .serverEnded:
            self.calls = []
            return self.shown.keys.sorted().flatMap { self.end($0, isDismissed: false) }
        }
    }

    private mutating func shows(_ call: DesktopCall, at id: UInt32, _ server: String) -> [Action] {
        if let refusal = self.rules.refusal(of: call) {
            // What it replaces is gone.
            return self.end(id, isDismissed: false) + (refusal == .own ? [] : [.refused(refusal)])
        }
        let known = self.shown[id]
        guard known?.call != call else { return [] }
        self.lastNumber += 1
        let (identifier, delivery) = (known?.identifier ?? UUID(), UUID())
        self.shown[id] = Shown(
            identifier: identifier,
            delivery: delivery,
            call: call,
            server: server,
            number: self.lastNumber
        )
        let send = Action.send(call, identifier: identifier, delivery: delivery)
        guard self.shown.count > Self.maxShown, let oldest = self.shown.min(by: { $0.value.number < $1.value.number })
        else { return [send] }
        return self.end(oldest.key, isDismissed: false) + [send]
    }

    private mutating func end(_ id: UInt32, isDismissed: Bool) -> [Action] {
        guard let known = self.shown.removeValue(forKey: id) else { return [] }
        return [.end(identifier: known.identifier, isDismissed: isDismissed)]
    }

    /// A notification has ended on another system.
    ///
    /// - Returns: the server that shows it here, and its number there; `nil` if none does, or with a newer content.
    mutating func endedElsewhere(_ delivery: UUID) -> (server: String, id: UInt32)? {
        guard let (id, shown) = self.shown.first(where: { $0.value.delivery == delivery }) else { return nil }
        self.shown[id] = nil
        return (shown.server, id)
    }
}
