// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Collects the problems of a file while it is decoded, so that all of them are reported at once.
///
/// A decoder stops at the first thrown error. Types that are decoded from a ``ConfigurationFile`` therefore wrap each
/// independent part in ``Swift/Decoder/attempt(_:_:)``, which records the error and continues with a fallback value.
/// The decoded value is used only if no problem was recorded.
final class FileProblems: Sendable {
    private let errors = Mutex<[DecodingError]>([])

    var all: [DecodingError] { self.errors.withLock { $0 } }

    func note(_ error: DecodingError) {
        self.errors.withLock { $0.append(error) }
    }
}

extension CodingUserInfoKey {
    fileprivate static let fileProblems = CodingUserInfoKey(rawValue: "RemoteSystems.fileProblems")
}

extension [CodingUserInfoKey: any Sendable] {
    /// The `userInfo` of a decoder that records problems.
    init(noting problems: FileProblems) {
        self = [:]
        if let key = CodingUserInfoKey.fileProblems { self[key] = problems }
    }
}

extension Decoder {
    fileprivate var problems: FileProblems? {
        CodingUserInfoKey.fileProblems.flatMap { self.userInfo[$0] as? FileProblems }
    }

    /// Records an error, so that decoding continues.
    ///
    /// - Throws: The error, if the decoder does not collect problems.
    func report(_ error: DecodingError) throws {
        guard let problems = self.problems else { throw error }
        problems.note(error)
    }

    /// Returns the result of the body. If the body throws, records the error and returns the fallback.
    ///
    /// - Throws: The error, if the decoder does not collect problems.
    package func attempt<Result>(_ fallback: Result, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DecodingError {
            try self.report(error)
            return fallback
        }
    }
}

/// An array element that is decoded independently. `content` is `nil` if the element was invalid and the error
/// recorded.
struct Attempted<Content: Decodable>: Decodable {
    let content: Content?

    init(from decoder: any Decoder) throws {
        self.content = try decoder.attempt(nil) { try Content(from: decoder) }
    }
}
