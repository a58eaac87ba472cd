// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension ValueSetError {
    /// Converts a `DecodingError` or an `EncodingError`; `nil` for other errors.
    ///
    /// The result has the key path, and the found and the expected type if they are known. The original error's text is
    /// not copied: code outside this module may have written it, and it may quote a value.
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
        self = underlying as? ValueSetError ?? ValueSetError(.notRepresentable, "The type does not accept the value.")
        for key in path.reversed() {
            // A wrapper that is coded as its only content adds a `super` step that is not in the user's data.
            if case .super? = key as? IndexKey { continue }
            self = key.intValue.map { self.inside(index: $0) } ?? self.inside(key: key.stringValue)
        }
    }

    static let mismatch = "The value is of another type than the one that is read."
}
