// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Whether a request may be sent a second time when its connection is lost before the answer.
public enum RequestRetry: Sendable, Hashable {
    /// It is not: whether it was carried out stays unknown, and whoever sent it decides.
    case never
    /// It is sent again with this key, of 1 to 64 bytes, by which the host knows it: what it carried out it does not carry
    /// out again, but gives the same answer. A host that was restarted has forgotten its keys, so this is for requests that
    /// do no harm when they are carried out twice.
    case idempotent(key: Data)

    /// ``idempotent(key:)`` with a random key.
    public static var idempotent: RequestRetry {
        let (high, low) = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        return .idempotent(key: Data((String(high, radix: 36) + String(low, radix: 36)).utf8))
    }

    var key: Data? {
        switch self {
        case .never: nil
        case .idempotent(let key): key
        }
    }
}
