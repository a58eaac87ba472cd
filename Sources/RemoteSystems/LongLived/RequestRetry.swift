// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a request may be sent a second time when its connection is lost before the answer.
public enum RequestRetry: Sendable, Hashable {
    /// It is not: whether it was carried out stays unknown, and whoever sent it decides.
    case never
    /// It is sent again with this key, by which the host knows it: what it carried out it does not carry out again, but gives
    /// the same answer. A host that was restarted has forgotten its keys, and one of another account keeps none, so this is
    /// for requests that do no harm when they are carried out twice.
    case idempotent(IdempotencyKey)

    /// ``idempotent(_:)`` with a new key.
    public static var idempotent: RequestRetry { .idempotent(IdempotencyKey()) }

    var key: IdempotencyKey? {
        switch self {
        case .never: nil
        case .idempotent(let key): key
        }
    }
}
