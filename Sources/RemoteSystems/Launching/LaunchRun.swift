// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// One launch: performs the steps of a plan and combines the responses to one result.
struct LaunchRun {
    let origin: ApplicationContext
    let timeout: Duration?

    /// Asks one application after the other until one has opened a URI, may have opened one, or has denied the
    /// requested URI. If every application fails, the result combines their failures.
    func follow(_ plan: LaunchPlan, _ message: LaunchMessage, on system: RemoteSystem) async throws
        -> RemoteLaunchURIResult
    {
        var failures: [RemoteLaunchURIResult.Opened: RemoteLaunchURIResult] = [:]
        for step in plan.steps {
            var part = message
            if step.opens == .fallback, let fallback = message.fallback {
                part = LaunchMessage(uri: fallback, applications: message.applications)
            } else if !step.isGivenFallback {
                part.fallback = nil
            }
            let application = step.application
            var result = try await self.ask(application, part)
            if result.opened != nil, step.opens == .fallback { result.opened = .fallback }
            switch result.status {
            case .appUnavailable, .protocolUnavailable, .remoteSystemUnavailable:
                failures[step.opens] = failures[step.opens]?.moreTelling(result) ?? result
            case .deniedByRemoteSystem where step.opens == .fallback:
                failures[.fallback] = result
            default:
                return result
            }
        }
        guard var result = failures[.uri] else {
            if message.isLimited { return .noneOfThePreferred(message, on: system, failures[.fallback]) }
            return .noApplication(opens: message.uri.scheme, on: system, failures[.fallback])
        }
        if let fallback = failures[.fallback]?.error {
            result.error?.message += " The fallback was not opened either: \(fallback.message)"
        }
        return result
    }

    /// Asks one application.
    func ask(_ application: RemoteSystemApplication, _ message: LaunchMessage) async throws -> RemoteLaunchURIResult {
        try await self.ask(
            application.candidates,
            application.systemID,
            application.id,
            message,
            isStarted: !application.isRunning
        )
    }

    /// Asks one application, or the process at an address.
    func ask(
        _ endpoints: [Endpoint],
        _ systemID: SystemID?,
        _ targetApplication: String?,
        _ message: LaunchMessage,
        isStarted: Bool = false
    ) async throws -> RemoteLaunchURIResult {
        let connection: Connection
        do {
            var connector = try await self.origin.connector()
            // A particular system is meant. Any other launch is for the account's own systems.
            if systemID != nil { connector.accepted = [.sameAccount, .linked] }
            // The application may have to be started.
            if isStarted {
                connector.responseTimeout = TimeAmount(self.timeout ?? self.origin.configuration.transport.startTimeout)
            }
            connection = try await connector.connect(
                to: endpoints,
                expecting: systemID,
                calling: Launch.service,
                of: targetApplication,
                from: self.origin
            )
        } catch let error as TransportError {
            return RemoteLaunchURIResult(opening: error, scheme: message.uri.scheme, application: targetApplication)
        }
        let result: RemoteLaunchURIResult
        do {
            let timeout = TimeAmount(self.timeout ?? self.origin.configuration.transport.requestTimeout)
            result = RemoteLaunchURIResult(try await Launch.launch.call(message, over: connection, timeout: timeout))
        } catch let error as BuiltInCallError {
            result = RemoteLaunchURIResult(error)
        } catch {
            await connection.abortAndWait()
            guard let error = error as? TransportError else { throw error }
            return try RemoteLaunchURIResult(sending: error)
        }
        await connection.close()
        return result
    }
}

// MARK: - Results

extension RemoteLaunchURIResult {
    /// Creates the result of a request that the peer could not read, so that nothing was opened
    /// (`Docs/wire/launching.md`), or whose response this system cannot read.
    init(_ error: BuiltInCallError) {
        var failure = RemoteSystemError(error)
        if case .responseInvalid = error {
            failure.message =
                "The other system's response cannot be read: whether the URI was opened is unknown."
        }
        self.init(status: .unknown, error: failure)
    }

    init(_ response: LaunchResponse) {
        if response.status == .success {
            self.init(status: .success, opened: response.opened ?? .uri, applicationID: response.application)
            return
        }
        guard response.status.isKnown else {
            let reason = response.text.map { " It says: \($0)" } ?? ""
            self.init(
                status: response.status,
                applicationID: response.application,
                error: RemoteSystemError(
                    .refused,
                    "The other system ended the launch with status \(response.status.rawValue), which this version "
                        + "does not know. Whether something was opened is unknown. Update RemoteSystems here.\(reason)",
                    side: .remote,
                    canRetry: response.canRetry,
                    outcome: .unknown
                )
            )
            return
        }
        self.init(
            status: response.status,
            applicationID: response.application,
            error: RemoteSystemError(
                response.status == .valueSetTooLarge ? .messageTooLarge : .refused,
                response.text ?? "The other system did not open the URI (\(response.status)).",
                side: .remote,
                canRetry: response.canRetry,
                outcome: response.status.saysNothingWasOpened ? .notExecuted : .unknown
            )
        )
    }

    /// Creates the result of a failed connection attempt: nothing was opened.
    ///
    /// - Parameter application: the id of the application that was asked; `nil` for an address.
    init(opening error: TransportError, scheme: String, application: String?) {
        var failure = RemoteSystemError(error)
        let status: RemoteLaunchURIStatus =
            switch (error.code, error.openStatus) {
            case (.refused, .appNotInstalled?), (.refused, .appUnavailable?): .appUnavailable
            case (.refused, .appServiceUnavailable?): .protocolUnavailable
            case (.refused, .remoteSystemUnavailable?): .remoteSystemUnavailable
            case (.refused, .remoteSystemNotSupportedByApp?), (.refused, .notAuthorized?): .deniedByRemoteSystem
            case (.unreachable, _): .remoteSystemUnavailable
            case (.peerNotTrusted, _): .deniedByLocalSystem
            default: .unknown
            }
        if status == .protocolUnavailable {
            failure.message =
                if let application {
                    "The application \(application) there opens no URIs, and so no \(scheme): URI. If its manifest "
                        + "names the scheme, its author has to correct the manifest, or the application: a "
                        + "RemoteSystemHost opens URIs with a LaunchURIProvider."
                } else {
                    "The application at that address opens no URIs, and so no \(scheme): URI. Launch to the port of an "
                        + "application that does, or of the system's host daemon ('remotesystems host')."
                }
        }
        self.init(status: status, error: failure)
    }

    /// Creates the result of a request that was sent over an open connection without a response.
    init(sending error: TransportError) throws {
        let failure = RemoteSystemError(error)
        switch error.code {
        case .messageTooLarge: self.init(status: .valueSetTooLarge, error: failure)
        case .connectionClosed: self.init(status: .remoteSystemUnavailable, error: failure)
        case .deadlineExceeded where !error.wasSent: self.init(status: .appUnavailable, error: failure)
        case .invalidMessage: throw failure
        default:
            var unknown = failure
            switch error.code {
            case .deadlineExceeded:
                unknown.message = "The other system did not respond in time: whether the URI was opened is unknown."
            case .connectionLost:
                unknown.message =
                    "The connection was lost before the response arrived: whether the URI was opened is unknown."
            default: break
            }
            if error.wasSent || error.code == .protocolViolation { unknown.outcome = .unknown }
            self.init(status: .unknown, error: unknown)
        }
    }

    /// The result when none of the named applications is listed or opens the scheme, and the system has no host daemon
    /// that could know more.
    fileprivate static func noneOfThePreferred(
        _ message: LaunchMessage,
        on system: RemoteSystem,
        _ fallback: RemoteLaunchURIResult?
    ) -> RemoteLaunchURIResult {
        let scheme = message.uri.scheme
        let ids = system.applications.map(\.id)
        let missing = message.applications.first { !ids.contains($0) }
        let openers = system.applications.filter { $0.uriSchemes.contains(scheme) }.map(\.id).sorted()
        let what =
            if let missing {
                "There is no application \(missing) on that system."
                    + SimilarNames.question(for: missing, among: ids)
            } else {
                "The application \(NameList.text(message.applications)) on that system opens no \(scheme): URIs."
            }
        let others =
            openers.isEmpty
            ? " No known application on that system opens \(scheme): URIs."
            : " \(scheme): URIs are opened there by \(NameList.text(openers))."
        let also = (fallback?.error).map { " The fallback was not opened either: \($0.message)" } ?? ""
        return RemoteLaunchURIResult(
            status: .appUnavailable,
            error: RemoteSystemError(.refused, what + others + also, side: .remote, canRetry: missing != nil)
        )
    }

    fileprivate static func noApplication(
        opens scheme: String,
        on system: RemoteSystem,
        _ fallback: RemoteLaunchURIResult?
    ) -> RemoteLaunchURIResult {
        let also = (fallback?.error).map { " The fallback was not opened either: \($0.message)" } ?? ""
        return RemoteLaunchURIResult(
            status: .protocolUnavailable,
            error: RemoteSystemError(
                .refused,
                "No known application on that system opens \(scheme): URIs, and no host daemon ('remotesystems host'), "
                    + "which would ask the system's desktop, runs there.\(also)",
                side: .remote,
                canRetry: true
            )
        )
    }

    /// Of two failures, prefers the response of an application to a failed connection.
    fileprivate func moreTelling(_ other: RemoteLaunchURIResult) -> RemoteLaunchURIResult {
        self.status == .remoteSystemUnavailable ? other : self
    }
}
