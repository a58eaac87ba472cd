// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

extension PairingStop {
    /// The error for the person at this side, with advice that fits what this side wants.
    ///
    /// The waiting side knows both intentions before the connecting side knows the other one's, and refuses. So the
    /// connecting side knows only that they do not fit its own.
    func error(wanting purpose: PairingIntention.Purpose) -> RemoteSystemError {
        guard self.reason == .refused(.purpose) else { return RemoteSystemError(self) }
        let text =
            switch purpose {
            case .link:
                """
                This machine is to link two accounts, and the other one to have both machines in one account. If the \
                accounts of two persons are to be linked, use '--link' on both machines.
                """
            case .ownAccount(admits: false, joins: _):
                """
                This machine is to join the other one's account, and the other one cannot admit it. Pair with the \
                machine that holds the root key of that account, and start 'remotesystems pair' there without \
                '--leave-account' and without '--link'.
                """
            case .ownAccount(admits: true, joins: false):
                """
                This machine can admit the other one to its account, and the other one is not to join it. If the \
                accounts of two persons are to be linked, use '--link' on both machines. If 'account show' prints the \
                same account on both, there is nothing to pair. If the other machine is to join and belongs to another \
                account with others, add '--leave-account' there: its present account is set aside, not deleted.
                """
            case .ownAccount(admits: true, joins: true):
                """
                This machine can admit the other one or join its account, and the other one can do neither. If the \
                accounts of two persons are to be linked, use '--link' on both machines. If the other machine belongs \
                to an account with others, pair with the machine that holds the root key of that account, or add \
                '--leave-account' there.
                """
            }
        var error = RemoteSystemError(
            IdentityError(.pairingMismatch, "\(text) The other machine shows the details. Nothing was changed.")
        )
        error.side = .remote
        return error
    }
}
