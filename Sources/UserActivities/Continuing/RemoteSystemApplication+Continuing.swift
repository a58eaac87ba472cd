// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

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
        let request = ContinuationRequest.receive(try OfferReference(offer))
        do {
            try await self.withAppService(ActivityDescriptor.topic) { connection in
                _ = try await request.send(over: connection, timeout: .seconds(60))
            }
        } catch let error as ContinuationError {
            throw error
        } catch let error as RemoteSystemError {
            throw ContinuationError(error)
        } catch {
            throw ContinuationError(.timedOut, "The task was cancelled.", side: .local, canRetry: true, cause: error)
        }
    }
}
