// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Decides over which connection each response of the user goes to the sender of its notification.
///
/// A value type: ``next()`` says what to do, and the receiver does it.
struct ResponseRouting {
    /// A connection of a sender.
    typealias Link = ObjectIdentifier

    enum Step: Equatable {
        case send(NotificationResponse, over: Link)
        /// The application of this system does not run. Each start has a number of its own.
        case start(application: String, number: Int)
    }

    enum Outcome {
        case taken
        /// The sender does not accept it, and never will.
        case refused
        /// The sender may accept it later.
        case postponed
        /// The connection is lost.
        case lost
    }

    private struct Waiting {
        var response: NotificationResponse
        var sender: NotificationSender
        /// The delivery that the user has responded to; `nil` if it is not known.
        var deliveryID: UUID?
        var date: Date
        /// The connection over which its notification came.
        var link: Link?
        /// The connection over which it is being sent.
        var sending: Link?
        var isPostponed = false
    }

    private struct State {
        var sender: NotificationSender
        var isSending = false
    }

    /// The maximum number of responses that wait for one system or linked account, or for one application of this
    /// system.
    static let maxPerHolder = 64
    /// The maximum number of responses that wait for all other systems; as many more wait for this one.
    static let max = 512
    /// The time for which a response waits for its sender.
    static let life: TimeInterval = 30 * 86_400
    /// An application that does not connect, or ends before it has acknowledged a response, is started again: this many
    /// times in all.
    static let maxStarts = 3

    private var waiting: [Waiting] = []
    private var links: [Link: State] = [:]
    /// The connections of each sender that receive all its responses. The last one does, until it ends.
    private var general: [NotificationSender: [Link]] = [:]
    /// The applications that are being started, with the number of the start, and how often each was started since the
    /// last response came or was taken.
    private var starting: [NotificationSender: Int] = [:]
    private var starts: [NotificationSender: Int] = [:]
    private var lastStart = 0

    /// - Parameter link: the connection over which the notification came; `nil` if it has ended. A response that a
    ///   connection receives at once needs no room.
    /// - Throws: ``NotificationError`` with `limitExceeded` if too many responses wait for their senders.
    func checkRoom(for sender: NotificationSender, link: Link?) throws(NotificationError) {
        guard self.link(link, of: sender) == nil else { return }
        let holder = self.waiting.count { $0.sender.quotaHolder == sender.quotaHolder }
        let all = self.waiting.count { $0.sender.isLocal == sender.isLocal }
        guard holder < Self.maxPerHolder, all < Self.max else {
            throw NotificationError(
                .limitExceeded,
                "Too many responses wait for the sender, which is away. Respond when it is back, or dismiss it."
            )
        }
    }

    /// - Parameters:
    ///   - deliveryID: the delivery that the user has responded to. Defaults to `nil`: it is not known.
    ///   - link: the connection over which the notification came; `nil` if it has ended.
    mutating func add(
        _ response: NotificationResponse,
        to sender: NotificationSender,
        _ deliveryID: UUID? = nil,
        at date: Date,
        link: Link?
    ) {
        let waiting = Waiting(response: response, sender: sender, deliveryID: deliveryID, date: date, link: link)
        self.waiting.append(waiting)
        // One that did not connect is started again for its next response.
        self.starting[sender] = nil
        self.starts[sender] = nil
    }

    /// The connection that receives a response.
    private func link(_ link: Link?, of sender: NotificationSender) -> Link? {
        // An identifier may have become that of a connection of another sender.
        if let link, self.links[link]?.sender == sender { return link }
        return self.general[sender]?.last { self.links[$0]?.sender == sender }
    }

    /// The connection that receives everything for an application of this system.
    func link(ofApplication application: String) -> Link? {
        self.general.first { $0.key.isLocal && $0.key.application == application }?.value.last
    }

    /// A sender has sent something over a connection.
    ///
    /// - Parameter receivesAll: whether it asks for the responses to all its notifications, also to those of earlier
    ///   connections.
    mutating func connected(_ link: Link, of sender: NotificationSender, receivesAll: Bool) {
        if self.links[link] == nil { self.links[link] = State(sender: sender) }
        // Its end is known for the sender of its first message only. A daemon sends for several.
        guard receivesAll, self.links[link]?.sender == sender else { return }
        self.general[sender, default: []].removeAll { $0 == link }
        self.general[sender, default: []].append(link)
        self.starting[sender] = nil
        self.retry(sender)
    }

    /// A sender asks over a connection for the responses to some notifications.
    ///
    /// - Parameter deliveryID: the only delivery that it asks for. Defaults to `nil`: any.
    /// - Returns: how many follow.
    mutating func claim(
        _ identifiers: Set<String>,
        _ deliveryID: UUID? = nil,
        of sender: NotificationSender,
        by link: Link
    ) -> Int {
        var count = 0
        for index in self.waiting.indices where self.waiting[index].sender == sender {
            guard identifiers.contains(self.waiting[index].response.requestIdentifier) else { continue }
            if let deliveryID, let other = self.waiting[index].deliveryID, other != deliveryID { continue }
            self.waiting[index].link = link
            self.waiting[index].isPostponed = false
            count += 1
        }
        return count
    }

    /// The responses that wait for a sender.
    func responses(for sender: NotificationSender) -> [NotificationResponse] {
        self.waiting.filter { $0.sender == sender }.map(\.response)
    }

    mutating func ended(_ link: Link) {
        // Another connection may get the same identifier.
        for index in self.waiting.indices {
            if self.waiting[index].link == link { self.waiting[index].link = nil }
            if self.waiting[index].sending == link { self.waiting[index].sending = nil }
        }
        guard let state = self.links.removeValue(forKey: link) else { return }
        self.general[state.sender]?.removeAll { $0 == link }
        if self.general[state.sender]?.isEmpty == true { self.general[state.sender] = nil }
        self.starting[state.sender] = nil
        self.retry(state.sender)
    }

    /// What to do next. Each connection carries one response at a time, in their order.
    mutating func next() -> Step? {
        for index in self.waiting.indices {
            let item = self.waiting[index]
            guard !item.isPostponed, item.sending == nil else { continue }
            if let link = self.link(item.link, of: item.sender) {
                guard self.links[link]?.isSending == false else { continue }
                self.links[link]?.isSending = true
                self.waiting[index].sending = link
                return .send(item.response, over: link)
            }
            let count = self.starts[item.sender, default: 0]
            // It connects when it runs. Its other responses go along.
            guard item.sender.isLocal, count < Self.maxStarts, self.starting[item.sender] == nil else { continue }
            self.starts[item.sender] = count + 1
            self.lastStart += 1
            self.starting[item.sender] = self.lastStart
            return .start(application: item.sender.application, number: self.lastStart)
        }
        return nil
    }

    /// Ends the time in which an application has to connect after a start. If it has not connected since, it can be
    /// started again.
    mutating func startEnded(_ number: Int) {
        for (sender, present) in self.starting where present == number { self.starting[sender] = nil }
    }

    /// A response was sent.
    mutating func sent(_ id: String, over link: Link, _ outcome: Outcome) {
        self.links[link]?.isSending = false
        guard let index = self.waiting.firstIndex(where: { $0.response.id == id }) else { return }
        // It may be on its way over the next connection already.
        let isCurrent = self.waiting[index].sending == link
        if isCurrent { self.waiting[index].sending = nil }
        switch outcome {
        case .taken, .refused:
            let sender = self.waiting.remove(at: index).sender
            self.starts[sender] = nil
        case .postponed: if isCurrent { self.waiting[index].isPostponed = true }
        case .lost: self.ended(link)
        }
    }

    /// Postponed responses to a sender are sent again.
    mutating func retry(_ sender: NotificationSender) {
        for index in self.waiting.indices where self.waiting[index].sender == sender {
            self.waiting[index].isPostponed = false
        }
    }

    /// Postponed responses that go over a connection are sent again.
    mutating func retry(over link: Link) {
        guard let sender = self.links[link]?.sender else { return }
        self.retry(sender)
    }

    /// The date at which the next response has waited too long.
    var nextExpiration: Date? { self.waiting.lazy.map { $0.date + Self.life }.min() }

    /// Removes the responses whose sender did not come back in time.
    ///
    /// - Returns: their ids.
    mutating func expire(at date: Date) -> [String] {
        self.remove { date.timeIntervalSince($0.date) >= Self.life }
    }

    /// Removes the responses to senders from which the user wants nothing any more.
    mutating func removeAll(to isUnwanted: (NotificationSender) -> Bool) -> [String] {
        self.remove { isUnwanted($0.sender) }
    }

    private mutating func remove(_ isOver: (Waiting) -> Bool) -> [String] {
        let ids = self.waiting.filter(isOver).map(\.response.id)
        self.waiting.removeAll(where: isOver)
        let senders = Set(self.waiting.map(\.sender))
        self.starts = self.starts.filter { senders.contains($0.key) }
        return ids
    }
}
