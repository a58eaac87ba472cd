// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension ValueSetError {
    /// What a `DecodingError` or an `EncodingError` says, with the key path, and with the type that was found and the one
    /// that was expected where they are known; `nil` for other errors.
    ///
    /// The text that other code has given such an error may quote a value, so it is not taken over.
    package init?(coding error: any Error) {
        switch error {
        case let error as DecodingError: self.init(error)
        case EncodingError.invalidValue(_, let context): self.init(context.underlyingError, at: context.codingPath)
        default: return nil
        }
    }

    private init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            let missing = ValueSetError(.missingKey, "A key is missing that the type requires.")
            self.init(missing, at: context.codingPath + [key])
        case .valueNotFound(let type, let context), .typeMismatch(let type, let context):
            let mismatch = ValueSetError(.typeMismatch, Self.mismatch, allowed: "\(type)")
            self.init(context.underlyingError as? ValueSetError ?? mismatch, at: context.codingPath)
        case .dataCorrupted(let context):
            self.init(context.underlyingError, at: context.codingPath)
        @unknown default:
            self.init(nil, at: [])
        }
    }

    private init(_ underlying: (any Error)?, at path: [any CodingKey]) {
        self = underlying as? ValueSetError ?? ValueSetError(.notRepresentable, "The type does not take the value.")
        for key in path.reversed() {
            // A wrapper that is coded as its only content has a step of its own, which no one wrote.
            if case .super? = key as? IndexKey { continue }
            self = key.intValue.map { self.inside(index: $0) } ?? self.inside(key: key.stringValue)
        }
    }

    static let mismatch = "The value is of another type than the one that is read."
}
