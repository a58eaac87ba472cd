// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What is wrong with a file, noted while it is decoded, so that all of it is reported at once.
///
/// A decoder stops at the first error that is thrown. Types that are decoded from a ``ConfigurationFile`` wrap what can be
/// judged by itself in ``Swift/Decoder/attempt(_:_:)``, which notes the error and goes on with a fallback value. The decoded
/// value is used only if nothing was noted.
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
    /// For the decoder of a file.
    init(noting problems: FileProblems) {
        self = [:]
        if let key = CodingUserInfoKey.fileProblems { self[key] = problems }
    }
}

extension Decoder {
    fileprivate var problems: FileProblems? {
        CodingUserInfoKey.fileProblems.flatMap { self.userInfo[$0] as? FileProblems }
    }

    /// Notes an error and returns, so that decoding goes on; throws it if nobody collects errors.
    func report(_ error: DecodingError) throws {
        guard let problems = self.problems else { throw error }
        problems.note(error)
    }

    /// What the body returns, or the fallback if it throws an error, which is noted.
    ///
    /// - Throws: the error, if nobody collects errors.
    package func attempt<Result>(_ fallback: Result, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DecodingError {
            try self.report(error)
            return fallback
        }
    }
}

/// An element of an array that is judged by itself; `nil` if it was not right, which was noted.
struct Attempted<Content: Decodable>: Decodable {
    let content: Content?

    init(from decoder: any Decoder) throws {
        self.content = try decoder.attempt(nil) { try Content(from: decoder) }
    }
}
