// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Why a call failed although the peer responded.
enum BuiltInCallError: Error, CustomStringConvertible {
    /// The peer refused the request, or failed.
    case failed(ResponseStatus, WireFailure?)
    /// The response does not have the form that the protocol specifies.
    case responseInvalid(InvalidMessage)

    var description: String { "\(RemoteSystemError(self))" }
}

extension RemoteSystemError {
    init(_ error: BuiltInCallError) {
        switch error {
        case .failed(let status, let failure):
            self.init(
                status == .messageTooLarge ? .messageTooLarge : .refused,
                failure?.text ?? "The other system could not read the request.",
                side: .remote,
                canRetry: failure?.canRetry ?? false
            )
        case .responseInvalid:
            self.init(
                .protocolViolation,
                "The other system's response cannot be read.",
                side: .remote,
                outcome: .unknown
            )
        }
    }
}
