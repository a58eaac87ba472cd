// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

extension RemoteSystemError {
    init(stream error: StreamError) {
        let code: Code =
            switch error.code {
            case .truncated: .streamTruncated
            case .connectionLost: .connectionLost
            case .abortedByPeer, .aborted, .stalled: .streamAborted
            case .peerNotTrusted: .notTrusted
            case .protocolViolation: .protocolViolation
            case .misuse: .misuse
            case .offerExpired: .deadlineExceeded
            case .tooManyOffers, .storageFull: .localResources
            case .fileFailed: .fileFailed
            }
        let side: Side =
            switch error.side {
            case .local: .local
            case .network: .network
            case .remote: .remote
            }
        self.init(
            code,
            error.message,
            side: side,
            canRetry: error.canRetry,
            outcome: .unknown,
            failureCode: error.code == .abortedByPeer ? error.failureCode : nil,
            cause: error
        )
    }

    /// Runs code that uses a stream, and converts its errors to ``RemoteSystemError``.
    static func mapping<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RemoteSystemError(error)
        }
    }
}
