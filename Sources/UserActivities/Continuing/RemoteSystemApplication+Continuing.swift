// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
public import RemoteSystems

extension RemoteSystemApplication {
    /// Lets a running application of this system continue an activity of another system, as the user has chosen.
    ///
    /// Returns when the application has continued it.
    ///
    /// - Parameter offer: the offer. Its type must be one that the application handles.
    /// - Throws: ``ContinuationError``. With the code ``ContinuationError/Code/notAuthorized`` for an application of
    ///   another system.
    public func `continue`(_ offer: UserActivityOffer) async throws(ContinuationError) {
        try await self.continue(.receive(try OfferReference(offer)), timeout: Self.longestContinuation)
    }

    /// Longer than the sum of the application's own time limits, which decide.
    private static let longestContinuation = Duration.seconds(1200)

    /// Lets an application of this system show a web page. The caller has verified that the page's site approves the
    /// application.
    ///
    /// - Parameter timeout: the time for the application to start and to show the page.
    package func `continue`(
        webpage: URL,
        title: String?,
        timeout: Duration
    ) async throws(ContinuationError) {
        try await self.continue(.webpage(try ActivityPayload(webpage: webpage, title: title)), timeout: timeout)
    }

    private func `continue`(
        _ request: ContinuationRequest,
        timeout: Duration
    ) async throws(ContinuationError) {
        do {
            try await self.withAppService(ActivityDescriptor.topic) { connection in
                _ = try await request.send(over: connection, timeout: timeout)
            }
        } catch let error as ContinuationError {
            // Of a response. The connection may have been lost before it.
            throw (error.cause as? RemoteSystemError).map { ContinuationError($0, receivedBy: self.id) } ?? error
        } catch let error as RemoteSystemError {
            throw ContinuationError(error, receivedBy: self.id)
        } catch {
            throw ContinuationError(.timedOut, "The task was cancelled.", side: .local, canRetry: true, cause: error)
        }
    }
}

extension ContinuationError {
    /// The failure of a connection to an application of this system, which continues the activity. A failure that the
    /// application itself states, such as that the offering one has ended, keeps its code.
    fileprivate init(_ error: RemoteSystemError, receivedBy application: String) {
        self.init(error)
        let isStated = error.failureCode?.hasPrefix("\(ActivityDescriptor.topic).") == true
        guard self.code == .originGone, !isStated else { return }
        self.code = .handlerFailed
        self.message = "The application \(application) of this system did not continue the activity. \(error.message)"
        self.side = .local
    }
}
