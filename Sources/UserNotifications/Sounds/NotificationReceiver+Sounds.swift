// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The sound of a notification. Where several systems of the user show it, only the system in use makes it.
extension NotificationReceiver {
    /// The maximum time by which the questions to other systems delay a notification.
    private static let askTime = Duration.milliseconds(150)
    /// The maximum time by which a sound file delays a notification. It may lie on a disk that does not respond.
    private static let fileTime = Duration.milliseconds(500)
    /// The time that a question waits for the notification, which may still be on its way to this system.
    private static let arrivalTime = Duration.milliseconds(100)
    /// The maximum number of systems that are asked.
    private static let maxAsked = 32

    /// The file of the sound that an application of this system has named; `nil` for another sound, and for one that
    /// is not found in time.
    func soundPath(of entry: ReceivedNotifications.Entry) async -> String? {
        // A program of another system only claims to be the application.
        guard let applicationSounds, entry.sender.isLocal,
            case .named(let name)? = entry.notification.request.content.sound
        else { return nil }
        let application = entry.notification.application(of: entry.sender)
        return await self.clock.first(within: Self.fileTime) { await applicationSounds.path(of: name, application) }
            ?? nil
    }

    // MARK: Asking

    /// Whether another system makes the sound of this notification.
    func isHeardElsewhere(_ entry: ReceivedNotifications.Entry) async -> Bool {
        let content = entry.notification.request.content
        guard entry.notification.isShared, content.sound != nil, content.interruptionLevel != .critical,
            entry.sender.may(.soundQuestions), let key = entry.stateKey, let choice = await self.soundChoice(),
            choice.dependsOnOthers
        else { return false }
        let systems = self.otherSystems.prefix(Self.maxAsked)
        let isHeard = await self.clock.first(within: Self.askTime) { await self.ask(systems, choice, key) }
        return isHeard ?? false
    }

    /// Asks other systems whether one of them makes the sound of a notification, when its turn comes.
    private func ask(
        _ systems: ArraySlice<RemoteSystem>,
        _ choice: SoundChoice,
        _ key: NotificationState.Key
    ) async -> Bool {
        // Each notification for itself: those of one sender need not wait for each other.
        let turn = self.questionTurns.enter(key.text)
        defer { self.questionTurns.leave(turn) }
        for await _ in turn.start {}
        // The wait counts as well. After that, this system makes the sound.
        guard !Task.isCancelled else { return false }
        return await Self.isHeard(on: systems, choice, key)
    }

    private static func isHeard(
        on systems: ArraySlice<RemoteSystem>,
        _ choice: SoundChoice,
        _ key: NotificationState.Key
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for system in systems {
                group.addTask { choice.leavesSound(to: await Self.idleTime(of: system, showing: key)) }
            }
            defer { group.cancelAll() }
            return await group.first { $0 } ?? false
        }
    }

    private func soundChoice() async -> SoundChoice? {
        guard let idleTime = self.idleTime else { return nil }
        return SoundChoice(own: await idleTime())
    }

    private static func idleTime(of system: RemoteSystem, showing key: NotificationState.Key) async -> Duration? {
        guard let daemon = system.application(RemoteSystemHost.machineApplicationID) else { return nil }
        let connection = AppServiceConnection(to: NotificationMessage.description)
        let request = RemoteSystemConnectionRequest(application: daemon)
        guard (try? await connection.open(request)) == .success else { return nil }
        let response = try? await connection.send(NotificationMessage.use(key)).get()
        await connection.close()
        return response?["Idle"]?.int.flatMap { $0 >= 0 ? .milliseconds($0) : nil }
    }

    // MARK: Responding

    /// Responds to another system of the user with the time since this one was used, if it shows the notification with
    /// a sound, or leaves that to a third one.
    ///
    /// - Parameter delivery: the digest of the key of its delivery.
    func use(_ delivery: String, for system: SystemID) async -> ValueSet {
        let asking = "\(system)"
        guard let idleTime = self.idleTime, self.soundQuestions.enter(asking) else { return [:] }
        defer { self.soundQuestions.leave(asking) }
        guard await self.makesSound(of: delivery), let idle = await idleTime() else { return [:] }
        return Self.response(idle)
    }

    /// Whether this system makes a sound for a notification, as far as its user and others leave that to it.
    private func makesSound(of delivery: String) async -> Bool {
        if self.mirrorsWithSound(delivery) { return true }
        guard self.presenter != nil, await self.hasArrived(delivery),
            let entry = self.received.entry(ofDelivery: delivery), entry.notification.request.content.sound != nil
        else { return false }
        return self.permissions.permission(of: entry.sender) == .allowed
    }

    private static func response(_ idle: Duration) -> ValueSet {
        ["Idle": .integer(Int64(max(idle, .zero) / .milliseconds(1)))]
    }

    /// Waits for a notification that was not received yet.
    private func hasArrived(_ delivery: String) async -> Bool {
        if self.received.entry(ofDelivery: delivery) != nil { return true }
        let (arrivals, id) = self.arrivals.add()
        defer { self.arrivals.finish(id) }
        return await self.clock.first(within: Self.arrivalTime) {
            for await arrived in arrivals where arrived == delivery { return true }
            return false
        } ?? false
    }
}
