// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemConnectionRequest {
    /// The maximum time to search for an application whose address is unknown.
    static let locatingTime = Duration.seconds(5)

    /// Returns this request if it has an address, else a request for the application at the place where a watcher finds
    /// it.
    ///
    /// - Throws: ``Unresolved`` when the application is not found within ``locatingTime``; ``RemoteSystemError`` when
    ///   this system's own identity cannot be used; `CancellationError`.
    func located() async throws -> RemoteSystemConnectionRequest {
        guard case .token(let token) = self.target, token.endpoints.isEmpty else { return self }
        let watcher = RemoteSystemWatcher(
            self.origin,
            filters: .listing(token.standing)
        )
        let events = watcher.events
        try await watcher.start()
        let limit = Task(executorPreference: self.origin.environment.taskExecutor) {
            try await self.origin.environment.time.sleep(for: Self.locatingTime)
            await watcher.stop()
        }
        defer { limit.cancel() }
        var isThere = false
        for await event in events {
            guard let request = self.request(for: token, after: event, isThere: &isThere) else { continue }
            await watcher.stop()
            return request
        }
        try Task.checkCancellation()
        throw Self.notFound(token, isThere: isThere)
    }

    // A separate function, so that the asynchronous function's frame stays large enough (decision 0008).
    /// Returns the request for the application that a token names, if it is present after an event.
    ///
    /// - Parameter isThere: whether the application's system is present.
    @inline(never)
    private func request(
        for token: ConnectionToken,
        after event: RemoteSystemEvent,
        isThere: inout Bool
    ) -> RemoteSystemConnectionRequest? {
        switch event {
        case .added(let system) where system.id == token.systemID,
            .updated(let system) where system.id == token.systemID:
            isThere = true
            return system.application(token.applicationID).map { self.leading(to: .application($0)) }
        case .removed(let system) where system.id == token.systemID:
            isThere = false
            return nil
        default:
            return nil
        }
    }

    @inline(never)
    private static func notFound(_ token: ConnectionToken, isThere: Bool) -> Unresolved {
        guard !isThere else {
            return Unresolved(
                .appNotInstalled,
                """
                System \(token.systemID.short) was found, without the application \(token.applicationID) that the \
                connection token names. Start it there: it can be called only while it runs a host, or when the host \
                daemon of its machine can start it.
                """
            )
        }
        var unresolved = Unresolved(.remoteSystemUnavailable, "")
        unresolved.error = RemoteSystemError(
            .unreachable,
            """
            System \(token.systemID.short), which the connection token names, was not found within 5 s. It must run a \
            host and be advertised on a network that this system uses. Run 'remotesystems doctor' to check this system.
            """,
            side: .network,
            canRetry: true
        )
        return unresolved
    }
}
