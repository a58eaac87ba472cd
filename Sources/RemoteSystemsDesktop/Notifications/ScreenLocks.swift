// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What the screen locks of a session, and the login manager, state about it.
struct ScreenLocks {
    /// What one lock responds to `GetActive`.
    enum State: Hashable {
        /// The session has no such lock.
        case none
        case unlocked, locked
        /// The lock did not respond, or with an error that does not mean that there is none. Counts as locked.
        case unknown

        init(isActive: Bool?) {
            self =
                switch isActive {
                case true?: .locked
                case false?: .unlocked
                case nil: .unknown
                }
        }

        init(_ failure: MessageBus.Failure) {
            let isAbsent = failure.name.map { Self.absent.contains($0) } ?? false
            self = isAbsent ? .none : .unknown
        }

        /// What the login manager responds about its `LockedHint`. Its own errors mean that it knows no session of this
        /// user; it may be one without the property, or one that this program may not ask.
        init(ofLoginManager failure: MessageBus.Failure) {
            let isAbsent =
                failure.name.map { name in
                    name.hasPrefix("org.freedesktop.login1.")
                        || ["AccessDenied", "InvalidArgs", "UnknownProperty"].contains {
                            name == "org.freedesktop.DBus.Error.\($0)"
                        }
                } ?? false
            self = isAbsent ? .none : State(failure)
        }

        /// The errors of a bus without the lock, and of a program with its name that is none.
        private static let absent = Set(
            ["ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownObject", "UnknownInterface", "NotSupported"]
                .map { "org.freedesktop.DBus.Error.\($0)" }
        )
    }

    /// The interfaces of screen locks, which are their bus names, too, with their paths.
    static let interfaces = [
        ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
        ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
        ("org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"),
        ("org.mate.ScreenSaver", "/org/mate/ScreenSaver"),
        ("org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"),
    ]

    private var round = 0
    /// The questions that wait for their responses, also those of earlier rounds.
    private var waiting = 0
    private var states: [String: State] = [:]
    /// What the locks state together; `nil` before that is known.
    private var together: State?
    /// What the login manager states; `nil` before that is known. An unlocked session may be one whose desktop reports
    /// nothing.
    private var login: State?
    /// Whether the locks are to be asked.
    private(set) var isDue = true

    /// Whether the locks are to be asked now. Any program can cause a question: the next one waits for the responses to
    /// the last.
    var canAsk: Bool { self.isDue && self.waiting == 0 }

    /// Whether the session counts as locked; `nil` before that is known.
    var isLocked: Bool? {
        let states = [self.together, self.login].compactMap(\.self)
        if states.contains(.locked) || states.contains(.unknown) { return true }
        return states.count == 2 ? false : nil
    }

    /// Begins to ask all locks. Responses of earlier rounds do not count any more.
    ///
    /// - Returns: the number of the round.
    mutating func ask() -> Int {
        self.round += 1
        self.waiting += Self.interfaces.count
        self.states = [:]
        self.isDue = false
        return self.round
    }

    /// A lock has responded.
    ///
    /// - Returns: what the locks of the round state together; `nil` before all have responded, and for an earlier
    ///   round.
    mutating func responded(_ name: String, _ state: State, in round: Int) -> State? {
        self.waiting = max(self.waiting - 1, 0)
        guard round == self.round else { return nil }
        self.states[name] = state
        guard self.states.count == Self.interfaces.count else { return nil }
        let states = Set(self.states.values)
        let together: State = [.locked, .unknown, .unlocked].first { states.contains($0) } ?? State.none
        self.together = together
        return together
    }

    /// A lock reports that the session is locked. What a round in progress finds out is older.
    mutating func reportedLocked() {
        self.round += 1
        self.isDue = false
        self.together = .locked
    }

    /// The login manager has responded, or is not there.
    mutating func loginReported(_ state: State) { self.login = state }

    /// A lock reports that the session is unlocked. Any program may send that: the locks themselves are asked.
    mutating func reportedUnlocked() { self.isDue = true }

    /// The program of a lock has started, ended or been replaced. The state stays until all locks have responded.
    mutating func changedOwner() { self.isDue = true }

    /// The time for a lock that did not respond is over. It is asked again, unless that has happened since.
    mutating func retry(after round: Int) { if round == self.round { self.isDue = true } }
}
