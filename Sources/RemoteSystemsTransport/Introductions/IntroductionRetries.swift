// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How often the connecting side of an introduction tries again when the other side has closed the connection before
/// anything was decided.
///
/// A port that is flooded closes some connections of honest peers, too. The pauses are short, because each attempt has
/// the same chance, and their sum is a time that a person waits.
struct IntroductionRetries {
    /// The maximum number of attempts after the first one.
    var count = 23

    /// The pause before a retry. The first one has the number 1.
    func pause(before retry: Int) -> Duration {
        .milliseconds(retry <= 2 ? 100 * retry : 400)
    }

    /// Whether the error may be that of a port that is flooded.
    static func apply(to error: any Error) -> Bool {
        guard let error = error as? TransportError else { return false }
        return error.code == .connectionLost && error.canRetry
    }
}
