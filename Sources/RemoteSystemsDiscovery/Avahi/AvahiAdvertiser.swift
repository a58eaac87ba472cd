// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// Keeps one announcement published. Confined to the session's queue; performs its state machine.
final class AvahiAdvertiser {
    private let logger: Logger
    private let onProblem: (DiscoveryProblem) -> Void
    private let onRecovered: (DiscoveryProblem.Code) -> Void
    private var machine: StateMachine
    private var timer: QueueTimer?
    private var connection: (any AvahiConnection)?
    private var interfaces: [NetworkInterface] = []
    private var scopes: [Int32?] = []
    private var publishers: [Publication: AnyObject] = [:]

    init(
        _ advertisement: DiscoveryAdvertisement,
        queue: DispatchQueue,
        logger: Logger,
        onProblem: @escaping (DiscoveryProblem) -> Void,
        onRecovered: @escaping (DiscoveryProblem.Code) -> Void
    ) {
        self.logger = logger
        self.onProblem = onProblem
        self.onRecovered = onRecovered
        machine = StateMachine(advertisement, host: DomainName.randomLabel())
        timer = QueueTimer(queue: queue) { [unowned self] in reconcile() }
    }

    /// Publishes on these interfaces; `scopes` says for which the service's own records are made, nil being all.
    func publish(through connection: any AvahiConnection, on interfaces: [NetworkInterface], scopes: [Int32?]) {
        self.connection = connection
        self.interfaces = interfaces
        self.scopes = scopes
        reconcile()
    }

    func disconnect() {
        timer?.unset()
        publishers = [:]
        connection = nil
    }

    /// Withdraws what is no longer right and publishes what is missing.
    private func reconcile() {
        guard let connection else { return }
        let wanted = machine.publications(on: interfaces, scopes: scopes)
        for publication in publishers.keys where !wanted.contains(publication) { publishers[publication] = nil }
        do throws(AvahiError) {
            for publication in wanted where publishers[publication] == nil {
                publishers[publication] = try connection.publish(publication) { [unowned self] report in
                    switch report {
                    // With the service itself published, all is: its addresses go first.
                    case .established: if !publication.records.isEmpty { established() }
                    case .collision: refused(AvahiError.collision)
                    case .failed(let error): refused(error)
                    }
                }
            }
        } catch {
            refused(error)
        }
    }

    private func established() {
        for code in machine.established() { onRecovered(code) }
    }

    /// Called by Avahi about a publisher that must not be freed at this moment: the rest is done on a later turn.
    private func refused(_ error: AvahiError) {
        let trouble = error.isCollision ? DiscoveryProblem.nameCollision : .advertiseRefused(error)
        let delay = error.isCollision ? machine.collided(newHost: DomainName.randomLabel()) : machine.refused()
        logger.debug("an announcement was refused", metadata: ["error": "\(error)", "retried-after": "\(delay)"])
        onProblem(trouble)
        timer?.set(after: delay)
    }
}

extension DiscoveryProblem {
    static let nameCollision = DiscoveryProblem(
        code: .nameCollision,
        message: "somebody else on the network uses the same instance name; it is announced under another one.",
        advice:
            "Make instance names random. If this happens again and again, look for a machine that copies announcements.",
        recoversByItself: true
    )

    static func advertiseRefused(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .advertiseRefused,
            message: "Avahi refused to publish the announcement: \(error).",
            advice:
                "See whether /etc/avahi/avahi-daemon.conf sets disable-publishing or disable-user-service-publishing.",
            recoversByItself: true
        )
    }
}
