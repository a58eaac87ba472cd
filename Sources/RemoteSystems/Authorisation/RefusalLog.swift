// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Logs the refusals that a service decides itself. A peer can cause any number, so only the first few in a minute are
/// logged, and the others are counted.
package struct RefusalLog: Sendable {
    private let logger: Logger
    private let incidents: IncidentLog

    package init(_ configuration: RemoteSystemsConfiguration) { self.init(configuration.logger) }

    init(_ logger: Logger) {
        self.logger = logger
        self.incidents = IncidentLog(logger)
    }

    /// Decides whether a caller may send a request, before anything but the request's type is read, and records a
    /// refusal.
    ///
    /// - Parameters:
    ///   - type: a type that the service knows.
    ///   - service: the name of the service.
    ///   - callers: those that may send requests of the type.
    package func permits(
        _ type: String,
        of service: String,
        by caller: AppServiceCaller,
        _ callers: RequestCallers
    ) -> Bool {
        guard let reason = callers.refusal(of: caller) else { return true }
        let subject = Authorisation.Subject(caller)
        var event = AuditEvent(.refused(reason), about: subject, .service(service, nil))
        event.metadata[AuditEvent.Key.request] = "\(type)"
        event.write(to: self.logger, limitedBy: self.incidents, of: subject)
        return false
    }

    /// Records an activity that was refused because of the publishers of the applications.
    ///
    /// - Parameter holder: the holder of the peer's quota; `nil` for an anonymous system.
    package func report(by holder: QuotaHolder?, _ metadata: [String: String]) {
        self.incidents.report(.activityRefused, by: holder, metadata.mapValues { .string($0) })
    }
}

extension Authorisation.Subject {
    fileprivate init(_ caller: AppServiceCaller) {
        self.standing = caller.standing
        self.system = caller.systemID
        self.isLocal = caller.isLocal
        self.application = caller.claimedApplicationID
    }
}
