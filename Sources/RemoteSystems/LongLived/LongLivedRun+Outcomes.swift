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

    /// Whether nothing comes after it.
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
    /// What a request is told that is not sent, or not sent again.
    ///
    /// - Parameter mayHaveRun: whether it was sent before, over a connection that was lost.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse``.
    func response(mayHaveRun: Bool) throws(RemoteSystemError) -> AppServiceResponse {
        let nothing = "Nothing was sent."
        let response: AppServiceResponse
        switch self {
        case .notStarted:
            throw RemoteSystemError(.misuse, "The connection has not been started.", side: .local)
        case .tooManyWait:
            let text = "Too many requests wait for the connection already. \(nothing)"
            response = AppServiceResponse(
                status: .resourceLimitsExceeded,
                error: RemoteSystemError(.unreachable, text, side: .local, canRetry: true)
            )
        case .expired(let reason):
            var text = "There was no connection by the deadline. \(nothing)"
            if let reason { text += " The last attempt: \(reason.message)" }
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
            let text = "The connection was closed. \(nothing) Make a new one."
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
    /// The same, unless it says of a request that was sent before that it was not carried out: that cannot be known.
    func reported(mayHaveRun: Bool) -> AppServiceResponse {
        guard mayHaveRun, self.error?.outcome == .notExecuted else { return self }
        return AppServiceResponse(
            status: .unknown,
            error: RemoteSystemError(
                .connectionLost,
                "The connection was lost while the answer was awaited, and there was no answer over another one by the "
                    + "deadline: whether the request was carried out is unknown.",
                side: .network,
                canRetry: true,
                outcome: .unknown,
                cause: self.error
            )
        )
    }
}

extension RemoteSystemError {
    /// Why a connection that was open is not any more.
    static func lost(_ status: AppServiceClosedStatus) -> RemoteSystemError {
        let text =
            switch status {
            case .completed: "The other side closed the connection; it may be restarting."
            case .cancelled: "The other side gave the connection up."
            case .resourceLimitsExceeded: "The connection was closed over a limit that was not kept."
            default: "The connection was lost."
            }
        return RemoteSystemError(
            .connectionLost,
            text,
            side: status == .unknown ? .network : .remote,
            canRetry: true
        )
    }

    /// Whether no later attempt can end in another way.
    ///
    /// - Parameters:
    ///   - status: how the attempt ended, if it got so far.
    ///   - canBeFound: whether the system may be found elsewhere. Who answers at its old address then says nothing of it.
    func endsTrying(_ status: AppServiceConnectionStatus?, canBeFound: Bool) -> Bool {
        switch self.code {
        case .misuse, .invalidArgument, .identity, .incompatibleVersion, .invalidMessage, .messageTooLarge: true
        case .refused: status == .notAuthorized || status == .remoteSystemNotSupportedByApp
        case .notTrusted: !self.canRetry && !canBeFound
        default: false
        }
    }
}
