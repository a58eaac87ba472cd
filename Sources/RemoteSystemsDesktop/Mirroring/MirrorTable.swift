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
        case returned(UInt32?, to: String, serial: UInt32)
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
        /// The other systems are to show the content, in place of an earlier one of the same delivery.
        case send(DesktopCall, delivery: UUID)
        case end(delivery: UUID, isDismissed: Bool)
        case refused(MirrorRules.Refusal)
    }

    private struct Call: Hashable {
        var caller: String
        var serial: UInt32
    }

    /// The maximum number of calls that wait for a response. A server responds to each.
    private static let maxCalls = 64
    /// The maximum number of notifications that are followed, more than are mirrored.
    private static let maxShown = 64

    private let rules: MirrorRules
    private var calls: [(Call, DesktopCall)] = []
    private var shown: [UInt32: (delivery: UUID, call: DesktopCall, number: UInt64)] = [:]
    private var lastNumber: UInt64 = 0

    init(_ rules: MirrorRules) { self.rules = rules }

    mutating func received(_ message: Message) -> [Action] {
        switch message {
        case .called(let call, let caller, let serial):
            self.calls.append((Call(caller: caller, serial: serial), call))
            if self.calls.count > Self.maxCalls { self.calls.removeFirst() }
            return []
        case .returned(let id, let caller, let serial):
            let key = Call(caller: caller, serial: serial)
            guard let index = self.calls.firstIndex(where: { $0.0 == key }) else { return [] }
            let call = self.calls.remove(at: index).1
            return id.map { self.shows(call, at: $0) } ?? []
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

    private mutating func shows(_ call: DesktopCall, at id: UInt32) -> [Action] {
        if let refusal = self.rules.refusal(of: call) {
            // What it replaces is gone.
            return self.end(id, isDismissed: false) + (refusal == .notMeant ? [] : [.refused(refusal)])
        }
        let known = self.shown[id]
        guard known?.call != call else { return [] }
        self.lastNumber += 1
        let delivery = known?.delivery ?? UUID()
        self.shown[id] = (delivery, call, self.lastNumber)
        if self.shown.count > Self.maxShown, let oldest = self.shown.min(by: { $0.value.number < $1.value.number }) {
            self.shown[oldest.key] = nil
        }
        return [.send(call, delivery: delivery)]
    }

    private mutating func end(_ id: UInt32, isDismissed: Bool) -> [Action] {
        guard let known = self.shown.removeValue(forKey: id) else { return [] }
        return [.end(delivery: known.delivery, isDismissed: isDismissed)]
    }

    /// A notification has ended on another system.
    ///
    /// - Returns: the number under which the server shows it here; `nil` if it does not.
    mutating func endedElsewhere(_ delivery: UUID) -> UInt32? {
        guard let id = self.shown.first(where: { $0.value.delivery == delivery })?.key else { return nil }
        self.shown[id] = nil
        return id
    }
}
