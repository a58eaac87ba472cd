// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a request may be sent a second time when its connection is lost before the response.
public enum RequestRetry: Sendable, Hashable {
    /// The request is not sent again. It ends with ``AppServiceResponseStatus/unknown``: whether it was executed
    /// remains unknown, and the caller decides.
    case never
    /// The request is sent again with this key.
    ///
    /// A host that has executed a request with the key does not execute it again, but returns the same response. A host
    /// loses its keys when it restarts, and a host of another account keeps none. Use this case only for requests that
    /// may be executed twice without harm.
    case idempotent(IdempotencyKey)

    /// The case ``idempotent(_:)`` with a new, unique key.
    public static var idempotent: RequestRetry { .idempotent(IdempotencyKey()) }

    var key: IdempotencyKey? {
        switch self {
        case .never: nil
        case .idempotent(let key): key
        }
    }
}
