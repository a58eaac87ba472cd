// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension LongLivedConnection.State {
    typealias Machine = LongLivedConnectionStateMachine

    init(_ phase: Machine.Phase, _ info: RemoteSystemConnectionInfo?) {
        switch (phase, info) {
        case (.idle, _): self = .idle
        case (.connected, let info?): self = .connected(info)
        case (.connecting, _), (.connected, nil): self = .connecting
        case (.waiting(let until, let reason), _): self = .waiting(until: until, reason: reason)
        case (.gaveUp(let error), _): self = .gaveUp(error)
        case (.closed, _): self = .closed
        }
    }

    /// Whether no other state follows.
    var isLast: Bool {
        switch self {
        case .gaveUp, .closed: true
        default: false
        }
    }
}

extension LongLivedConnectionStateMachine.Ending {
    init(_ response: AppServiceResponse) {
        switch (response.error?.code, response.error?.outcome) {
        case (.connectionClosed, .notExecuted): self = .notSent
        case (.connectionLost, .unknown): self = .unknown
        default: self = .final
        }
    }
}

extension LongLivedConnectionStateMachine.Refusal {
    /// The response to a request that is not sent, or not sent again.
    ///
    /// - Parameter mayHaveRun: whether the request was sent before, over a connection that was lost.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when the connection was not started.
    func response(mayHaveRun: Bool) throws(RemoteSystemError) -> AppServiceResponse {
        let nothing = "Nothing was sent."
        let response: AppServiceResponse
        switch self {
        case .notStarted:
            throw RemoteSystemError(.misuse, "The connection has not been started.", side: .local)
        case .tooManyWait:
            let text = "The maximum number of requests is already waiting for the connection. \(nothing)"
            response = AppServiceResponse(
                status: .resourceLimitsExceeded,
                error: RemoteSystemError(.unreachable, text, side: .local, canRetry: true)
            )
        case .expired(let reason):
            var text = "No connection was opened before the deadline. \(nothing)"
            if let reason { text += " The last error: \(reason.message)" }
            response = AppServiceResponse(
                status: .remoteSystemUnavailable,
                error: RemoteSystemError(
                    .deadlineExceeded,
                    text,
                    side: reason?.side ?? .network,
                    canRetry: reason?.canRetry ?? true,
                    cause: reason
                )
            )
        case .closed:
            let text = "The connection was closed. \(nothing) Create a new connection."
            response = AppServiceResponse(
                status: .connectionClosed,
                error: RemoteSystemError(.connectionClosed, text, side: .local)
            )
        case .gaveUp(let error):
            response = AppServiceResponse(
                status: .remoteSystemUnavailable,
                error: RemoteSystemError(
                    error.code,
                    "\(error.message) \(nothing)",
                    side: error.side,
                    canRetry: error.canRetry,
                    cause: error.cause
                )
            )
        }
        return response.reported(mayHaveRun: mayHaveRun)
    }
}

extension AppServiceResponse {
    /// Returns this response. If the request was sent before and the response reports it as not executed, which cannot
    /// be known, returns a response with an unknown outcome instead.
    func reported(mayHaveRun: Bool) -> AppServiceResponse {
        guard mayHaveRun, self.error?.outcome == .notExecuted else { return self }
        return AppServiceResponse(
            status: .unknown,
            error: RemoteSystemError(
                .connectionLost,
                "The connection was lost before the response arrived, and no other connection returned one before the "
                    + "deadline: whether the request was executed is unknown.",
                side: .network,
                canRetry: true,
                outcome: .unknown,
                cause: self.error
            )
        )
    }
}

extension RemoteSystemError {
    /// The error for the end of an open connection.
    static func lost(_ status: AppServiceClosedStatus) -> RemoteSystemError {
        let text =
            switch status {
            case .completed: "The other side closed the connection; it may be restarting."
            case .cancelled: "The other side aborted the connection."
            case .resourceLimitsExceeded: "The connection was closed because a limit was exceeded."
            default: "The connection was lost."
            }
        return RemoteSystemError(
            .connectionLost,
            text,
            side: status == .unknown ? .network : .remote,
            canRetry: true
        )
    }

    /// Whether no later attempt can succeed.
    ///
    /// - Parameters:
    ///   - status: how the attempt ended, if it got so far.
    ///   - canBeFound: whether the system may be found at another address. A different system at its old address is
    ///     then not final.
    func endsTrying(_ status: AppServiceConnectionStatus?, canBeFound: Bool) -> Bool {
        switch self.code {
        case .misuse, .invalidArgument, .identity, .incompatibleVersion, .invalidMessage, .messageTooLarge: true
        case .refused: status == .notAuthorized || status == .remoteSystemNotSupportedByApp
        case .notTrusted: !self.canRetry && !canBeFound
        default: false
        }
    }
}
