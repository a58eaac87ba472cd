// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore
internal import NIOPosix
package import RemoteSystemsIdentity
internal import Synchronization

/// Logs the incidents that peers cause. Of each kind it logs the first few in a minute, then one summary with the
/// number of the others, so that a flood is visible and cannot fill the log.
///
/// The metadata keys are stable: `event` (``Incident``), `peer` (the address, without a port), `system` or
/// `application`, `code`, `reason`, and in a summary `count`, `seconds` and `most` with the origin of the most events
/// (`Docs/security-model.md`). Some incidents have keys of their own.
package final class IncidentLog: Sendable {
    /// The number of events in a summary from which it is a warning, whatever the level of one event.
    private static var flood: Int { 100 }

    private enum Origin: Hashable {
        case peer(PeerKey)
        case application(String)
        /// `nil`: all anonymous systems.
        case holder(QuotaHolder?)

        /// The metadata that names the origin in a summary.
        var metadata: Logger.Metadata {
            switch self {
            case .peer(let key): key.text.map { ["most.peer": "\($0)"] } ?? [:]
            case .application(let id): ["most.application": "\(id)"]
            case .holder(.system(let system)?): ["most.system": "\(system)"]
            case .holder(.account(let account)?): ["most.account": "\(account)"]
            case .holder(nil): ["most.standing": "anonymous"]
            }
        }
    }

    private let logger: Logger
    private let period: TimeAmount
    private let limiters = Mutex<[Incident: LogLimiter<Origin>]>([:])

    /// - Parameter period: the time after which the suppressed events are summarised. Defaults to one minute.
    package init(_ logger: Logger, period: TimeAmount = .minutes(1)) {
        self.logger = logger
        self.period = period
    }

    /// Reports an incident that the peer of a channel caused. For a Unix socket, call it on the channel's event loop.
    package func report(_ incident: Incident, by channel: any Channel, reason: @autoclosure () -> String) {
        self.report(incident, by: channel.transportPeer, reason: reason())
    }

    /// Reports an incident of a peer.
    ///
    /// - Parameters:
    ///   - system: the system that the peer has proved to be. Defaults to `nil`: unknown.
    ///   - code: the failure code that the peer receives. Defaults to `nil`: none.
    package func report(
        _ incident: Incident,
        by peer: TransportPeer,
        system: SystemID? = nil,
        code: String? = nil,
        reason: @autoclosure () -> String
    ) {
        var metadata: Logger.Metadata = [:]
        if let system { metadata["system"] = "\(system)" }
        if let code { metadata["code"] = "\(code)" }
        self.report(
            incident,
            of: .peer(peer.key),
            metadata.merging(["peer": "\(peer.address)", "reason": "\(reason())"]) { $1 }
        )
    }

    /// Reports an incident of a system.
    ///
    /// - Parameter holder: the holder of the system's quota; `nil` for an anonymous system. The systems of a linked
    ///   account, which can be any number, are one origin, and so are all anonymous ones.
    package func report(
        _ incident: Incident,
        by system: SystemID,
        of holder: QuotaHolder?,
        reason: @autoclosure () -> String
    ) {
        self.report(incident, of: .holder(holder), ["system": "\(system)", "reason": "\(reason())"])
    }

    /// Reports an incident with its own metadata.
    ///
    /// - Parameter holder: the holder of the peer's quota; `nil` for an anonymous system. A machine can be any number
    ///   of those, so all of them are one origin.
    package func report(_ incident: Incident, by holder: QuotaHolder?, _ metadata: @autoclosure () -> Logger.Metadata) {
        self.report(incident, of: .holder(holder), metadata())
    }

    /// Reports an incident of an application of this machine, whichever peers caused it.
    package func report(_ incident: Incident, ofApplication id: String, reason: @autoclosure () -> String) {
        self.report(incident, of: .application(id), ["application": "\(id)", "reason": "\(reason())"])
    }

    private func report(_ incident: Incident, of origin: Origin, _ metadata: @autoclosure () -> Logger.Metadata) {
        let event = self.limiters.withLock { limiters in
            let limits = incident.limits
            let new = LogLimiter<Origin>(
                period: self.period,
                total: limits.total,
                perKey: limits.perPeer,
                reserved: limits.reserved
            )
            return limiters[incident, default: new].occurred(for: origin, now: .now())
        }
        switch event {
        case .log:
            self.logger.log(
                level: incident.level,
                incident.message,
                metadata: metadata().merging(["event": "\(incident.rawValue)"]) { $1 }
            )
        case .count:
            break
        case .countAndSummarize(let time):
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: time) { [weak self] in
                self?.summarize(incident)
            }
        }
    }

    private func summarize(_ incident: Incident) {
        let (most, count) = self.limiters.withLock { limiters in
            (limiters[incident]?.most, limiters[incident]?.summarize() ?? 0)
        }
        guard count > 0 else { return }
        let level = count >= Self.flood ? max(incident.level, .warning) : incident.level
        let seconds = self.period.nanoseconds / 1_000_000_000
        let metadata: Logger.Metadata = [
            "event": "\(incident.rawValue)", "count": "\(count)", "seconds": "\(seconds)",
        ]
        self.logger.log(
            level: level,
            "\(incident.message) (further events of this kind)",
            metadata: metadata.merging(most?.metadata ?? [:]) { $1 }
        )
    }
}

extension Incident {
    /// The incident that a refusal or an error with this failure code is; `nil` if it is the ordinary course.
    init?(failureCode: String?) {
        guard let code = failureCode.flatMap(FailureCode.init) else { return nil }
        switch code {
        case .certificateInvalid, .certificateExpired, .certificateNotYetValid, .otherAccount, .revoked:
            self = .certificateRefused
        case .tooManyConnections, .tooManyConnectionsOfSystem:
            self = .connectionLimit
        case .frameTooSlow, .unfinishedBytesExceeded:
            self = .receiveLimit
        default:
            return nil
        }
    }
}
