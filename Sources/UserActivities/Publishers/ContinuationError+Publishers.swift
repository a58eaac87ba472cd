// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

extension ContinuationError {
    /// A refusal because of the publishers.
    ///
    /// - Parameter other: a phrase that names the application of the other system.
    init(
        _ refusal: PublisherComparison.Refusal,
        _ comparison: PublisherComparison,
        own: String,
        other: String,
        side: RemoteSystemError.Side
    ) {
        let (message, advice) = comparison.explanation(refusal, own: own, other: other)
        self.init(.publisherMismatch, "\(message) \(advice)", side: side)
    }
}
