// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// Keeps one advertisement published: performs the actions of its state machine. Confined to the session's queue.
final class AvahiAdvertiser {
    private let logger: Logger
    private let onProblem: (DiscoveryProblem) -> Void
    private let onRecovered: (DiscoveryProblem.Code) -> Void
    private let onEffect: (Bool) -> Void
    private var machine: StateMachine
    private var timer: QueueTimer?
    private var connection: AvahiLink?
    private var interfaces: [NetworkInterface] = []
    private var scopes: [Int32?] = []
    private var publishers: [Publication: AnyObject] = [:]
    private var isRetrying = false

    init(
        _ advertisement: DiscoveryAdvertisement,
        queue: DispatchQueue,
        logger: Logger,
        onProblem: @escaping (DiscoveryProblem) -> Void,
        onRecovered: @escaping (DiscoveryProblem.Code) -> Void,
        onEffect: @escaping (Bool) -> Void = { _ in }
    ) {
        self.logger = logger
        self.onProblem = onProblem
        self.onRecovered = onRecovered
        self.onEffect = onEffect
        machine = StateMachine(advertisement, host: DomainName.randomLabel())
        timer = QueueTimer(queue: queue) { [unowned self] in
            isRetrying = false
            reconcile()
        }
    }

    /// The codes of the reported problems that are not over.
    var troubles: Set<DiscoveryProblem.Code> { machine.troubles }

    /// Publishes on these interfaces. The service's own records are published once for each of `scopes`, where `nil`
    /// means all interfaces.
    func publish(through connection: AvahiLink, on interfaces: [NetworkInterface], scopes: [Int32?]) {
        self.connection = connection
        self.interfaces = interfaces
        self.scopes = scopes
        reconcile()
    }

    func disconnect() {
        timer?.unset()
        isRetrying = false
        publishers = [:]
        connection = nil
        report(machine.kept(publishers.keys))
    }

    /// Withdraws publications that are no longer wanted and makes the missing ones.
    private func reconcile() {
        guard let connection else { return }
        let wanted = machine.publications(on: interfaces, scopes: scopes)
        for publication in publishers.keys where !wanted.contains(publication) { publishers[publication] = nil }
        report(machine.kept(publishers.keys))
        for publication in wanted where publishers[publication] == nil {
            publishers[publication] = connection.publish(publication) { [unowned self] report in
                switch report {
                // The addresses are published first, so when the service's records are established, everything is.
                case .established: if !publication.records.isEmpty { established(publication) }
                case .collision: refused(AvahiError.collision, publication)
                case .failed(let error):
                    publishers[publication] = nil
                    refused(error, publication)
                }
            }
        }
    }

    private func established(_ publication: Publication) {
        for code in machine.established() { onRecovered(code) }
        report(machine.published(publication))
    }

    private func refused(_ error: AvahiError, _ publication: Publication) {
        report(machine.unpublished(publication))
        refused(error)
    }

    private func report(_ change: Bool?) {
        if let change { onEffect(change) }
    }

    /// Reports the problem and schedules a retry. Publications that are refused at the same time share one retry.
    private func refused(_ error: AvahiError) {
        guard !isRetrying || error.isCollision else { return }
        isRetrying = true
        let trouble = error.isCollision ? DiscoveryProblem.nameCollision : .advertiseRefused(error)
        let delay = error.isCollision ? machine.collided(newHost: DomainName.randomLabel()) : machine.refused()
        logger.debug("Avahi refused an advertisement", metadata: ["error": "\(error)", "retried-after": "\(delay)"])
        onProblem(trouble)
        timer?.set(after: delay)
    }
}

extension DiscoveryProblem {
    static let nameCollision = DiscoveryProblem(
        code: .nameCollision,
        message: "Another machine uses the same instance name. The service is now advertised under another name.",
        advice: "Make instance names random. If this repeats, look for a machine that copies advertisements.",
        recoversByItself: true
    )

    static func advertiseRefused(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .advertiseRefused,
            message: "Avahi refused to publish the advertisement: \(error).",
            advice: "Check whether /etc/avahi/avahi-daemon.conf sets disable-publishing or "
                + "disable-user-service-publishing.",
            recoversByItself: true
        )
    }
}
