// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import Synchronization

/// Obtains the host daemon's statements about this application, and compares publishers with an application of another
/// system. Both sides of a continuation use it.
final class PublisherProofs: Sendable {
    /// Asks the host daemon for a voucher about this application.
    typealias Source = @Sendable (_ audience: SystemID, _ activity: UUID) async -> OwnVoucher?

    /// The application at the other end.
    struct Peer: Sendable {
        var system: SystemID
        /// The holder of the system's quota; `nil` for an anonymous system.
        var holder: QuotaHolder?
        var application: String
        var isSameAccount: Bool
    }

    private let account: RemoteSystemsAccount
    private let application: String
    private let refusals: RefusalLog
    private let host = Mutex<(source: Source, system: @Sendable () -> SystemID?)?>(nil)

    init(_ configuration: RemoteSystemsConfiguration) {
        self.account = RemoteSystemsAccount(configuration)
        self.application = configuration.applicationID
        self.refusals = RefusalLog(configuration)
    }

    /// Uses the daemon with which a host registers.
    func use(_ host: RemoteSystemHost, source: Source?) {
        let source = source ?? { [weak host] in await host?.voucher(for: $0, about: $1) }
        self.host.withLock { $0 = (source, { [weak host] in host?.systemID }) }
    }

    /// The daemon's statement about this application to another system; `nil` without a daemon.
    func own(for peer: SystemID, about activity: UUID) async -> OwnVoucher? {
        guard let host = self.host.withLock({ $0 }) else { return nil }
        return await host.source(peer, activity)
    }

    /// Compares this application's publisher with that of the application at the other end.
    ///
    /// - Parameters:
    ///   - own: the statement about this application.
    ///   - voucher: what the other side has sent; `nil` if it has sent none.
    ///   - type: the type of the activity.
    ///   - isOrigin: whether this application offers the activity.
    /// - Throws: ``ContinuationError`` with the code ``ContinuationError/Code/publisherMismatch``.
    func compare(
        _ own: OwnVoucher?,
        with voucher: [UInt8]?,
        of peer: Peer,
        about activity: UUID,
        type: String,
        isOrigin: Bool
    ) throws(ContinuationError) {
        var other = ApplicationPublisher.unproven(nil)
        if let voucher, let system = self.host.withLock({ $0?.system() }) {
            let subject = ApplicationVoucher.Subject(
                application: peer.application,
                audience: system,
                activity: activity
            )
            other = ApplicationVoucher(voucher, for: subject, by: peer.system)?.publisher ?? other
        }
        let comparison = PublisherComparison(
            own: own?.publisher ?? .unproven(nil),
            other: other,
            acceptsUnsigned: self.acceptsUnsigned(own),
            isSameAccount: peer.isSameAccount,
            isBuiltIn: BuiltInApplication.areBuiltIn(self.application, peer.application, for: type)
        )
        guard let refusal = comparison.refusal else { return }
        self.refusals.report(
            by: peer.holder,
            [
                "peer.system": "\(peer.system)",
                "peer.application": "\(peer.application.withoutControlCharacters)",
                "own": "\(comparison.own)", "other": "\(comparison.other)",
            ]
        )
        // The origin's error is read on the other system.
        throw ContinuationError(
            refusal,
            comparison,
            own: isOrigin ? "the offering application \(self.application)" : "the application \(self.application)",
            other: isOrigin
                ? "the application \(peer.application.withoutControlCharacters)"
                : "the offering application \(peer.application.withoutControlCharacters)",
            side: isOrigin ? .remote : .local
        )
    }

    /// Whether the user of this system permits applications without a proven publisher. Reads a small file.
    private func acceptsUnsigned(_ own: OwnVoucher?) -> Bool {
        guard let settings = try? HandOffSettings.read(self.account) else { return false }
        return settings.acceptsUnsigned(hasSignedManifests: own?.hasSignedManifests ?? false)
    }
}
