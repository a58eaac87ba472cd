// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The programs that are registered with this process, the host daemon of their machine. A program is registered while
/// its connection is open, and counts as running once it has both described itself and stated its port.
final class ProgramRegistry: Sendable {
    /// Identifies a connection to the daemon. Numbers are not reused.
    typealias Number = Int

    private struct Entry: Sendable {
        /// The id that the program may register.
        var application: String
        var process: ProgramProcess
        /// The publisher that this daemon vouches for.
        var publisher = ApplicationPublisher.unproven(nil)
        var description: SystemDescription.Application?
        var registration: Registry.Registration?

        var isComplete: Bool { self.description != nil && self.registration != nil }
    }

    private struct State: Sendable {
        var entries: [Number: Entry] = [:]
        var last: Number = 0
        /// Programs that listened when the daemon started, and have not registered yet.
        var expected: [RunningApplication] = []
        /// The number of changes.
        var version: UInt64 = 0
    }

    /// The maximum number of registered programs.
    static let maxPrograms = SystemDescription.maxRunning

    private let state = ObservableValue(State())

    /// The number of changes so far.
    var version: UInt64 { self.state.value.version }

    // MARK: Registering

    /// Whether another program can register.
    var hasCapacity: Bool { self.state.value.entries.count < Self.maxPrograms }

    /// Adds a program that has connected.
    ///
    /// - Returns: its number; `nil` if the maximum number of programs is reached.
    func enter(_ application: String, _ process: ProgramProcess) -> Number? {
        var number: Number?
        self.change { state in
            guard state.entries.count < Self.maxPrograms else { return }
            state.last += 1
            number = state.last
            state.entries[state.last] = Entry(application: application, process: process)
        }
        return number
    }

    /// Records a program's description.
    ///
    /// - Returns: `false` if the program describes another application than its own.
    func describe(_ number: Number, _ description: SystemDescription.Application) -> Bool {
        var isOwn = true
        self.change { state in
            isOwn = state.entries[number].map { $0.application == description.id } ?? true
            state.entries[number]?.description = isOwn ? description : nil
        }
        return isOwn
    }

    /// Records the publisher of a program.
    func vouch(_ number: Number, _ publisher: ApplicationPublisher) {
        guard let entry = self.state.value.entries[number], entry.publisher != publisher else { return }
        self.change { $0.entries[number]?.publisher = publisher }
    }

    /// The application id and the publisher of a program; `nil` if it has left.
    func publisher(of number: Number) -> (application: String, publisher: ApplicationPublisher)? {
        self.state.value.entries[number].map { ($0.application, $0.publisher) }
    }

    /// All programs that have connected.
    var all: [(number: Number, application: String, process: ProgramProcess)] {
        self.state.value.entries.sorted { $0.key < $1.key }.map { ($0, $1.application, $1.process) }
    }

    func register(_ number: Number, _ registration: Registry.Registration) {
        // A program repeats its registration to check whether the daemon responds.
        guard self.state.value.entries[number]?.registration != registration else { return }
        self.change { $0.entries[number]?.registration = registration }
    }

    func leave(_ number: Number) {
        self.change { $0.entries[number] = nil }
    }

    /// Names programs that listen and will register soon, so that they stay listed when the daemon was restarted.
    func expect(_ programs: [RunningApplication]) {
        self.change { $0.expected = Array(programs.prefix(Self.maxPrograms)) }
    }

    /// The programs that are expected and have not registered.
    var expected: [RunningApplication] { self.state.value.expected }

    /// Drops programs that have not registered in time.
    func forget(_ programs: [RunningApplication]) {
        self.change { state in state.expected.removeAll { programs.contains($0) } }
    }

    private func change(_ change: (inout State) -> Void) {
        self.state.change { state in
            state.version += 1
            change(&state)
            let complete = Set(state.entries.values.filter(\.isComplete).map(\.application))
            state.expected.removeAll { complete.contains($0.application) }
        }
    }

    // MARK: Reading

    /// The registered processes, in the order in which they connected, and then the expected ones.
    var processes: [RunningApplication] {
        let state = self.state.value
        return Self.complete(state).map { _, entry, _, registration in
            RunningApplication(
                application: entry.application,
                port: registration.port,
                pid: entry.process.pid,
                isOnLoopback: registration.isOnLoopback ? true : nil
            )
        } + state.expected
    }

    /// One program of each application, ordered by application id.
    ///
    /// - Parameter includesLoopback: whether to include programs that listen on the loopback interface only.
    func programs(includesLoopback: Bool) -> [SystemDescription.Program] {
        var programs: [String: SystemDescription.Program] = [:]
        for (number, entry, description, registration) in Self.complete(self.state.value)
        where programs[description.id] == nil && (includesLoopback || !registration.isOnLoopback) {
            programs[description.id] = SystemDescription.Program(
                application: description,
                number: number,
                epoch: registration.epoch,
                port: registration.port,
                publisher: entry.publisher
            )
        }
        return programs.values.sorted { $0.application.id < $1.application.id }
    }

    private static func complete(
        _ state: State
    ) -> [(Number, Entry, SystemDescription.Application, Registry.Registration)] {
        state.entries.sorted { $0.key < $1.key }.compactMap { number, entry in
            guard let description = entry.description, let registration = entry.registration else { return nil }
            return (number, entry, description, registration)
        }
    }

    /// Whether other systems cannot reach a program; `true` while that is not known.
    func isOnLoopback(_ number: Number) -> Bool {
        self.state.value.entries[number]?.registration?.isOnLoopback ?? true
    }

    /// Returns the port of an application once it is registered; `nil` if the task is cancelled first.
    func port(whenRegistered application: String) async -> Int? {
        func port(_ state: State) -> Int? {
            state.entries.values.first { $0.application == application && $0.isComplete }?.registration?.port
        }
        await self.state.becomes { port($0) != nil }
        return port(self.state.value)
    }

    /// Returns once a program is complete or has left, or the task is cancelled.
    func settle(_ number: Number) async {
        await self.state.becomes { $0.entries[number]?.isComplete ?? true }
    }
}
