// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Answers requests of one app service; for services that have more to them than a closure.
public protocol AppServiceProvider: Sendable {
    /// Answers a request. See ``AppService/init(_:schema:responseSchema:concurrentRequests:execution:handler:)`` for where
    /// it runs.
    ///
    /// - Throws: ``AppServiceFailure`` to tell the caller why not. Of other errors the caller learns only that there was one.
    func respond(to request: AppServiceRequest) async throws -> ValueSet
    /// A connection to the service was opened. By default nothing happens.
    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller)
    /// A connection to the service has ended. By default nothing happens.
    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus)
}

extension AppServiceProvider {
    /// Does nothing.
    public func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {}
    /// Does nothing.
    public func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {}
}

/// An app service that a ``RemoteSystemHost`` offers.
public struct AppService: Sendable {
    /// Where a service's handler runs.
    public enum Execution: Sendable, Hashable {
        /// On the connection's event loop: the fastest. It must not block or compute for long before it first awaits
        /// something else, since connections on the same loop wait for it.
        case onEventLoop
        /// On Swift's shared thread pool: for handlers that compute. Costs two thread switches for each request.
        case onThreadPool
    }

    /// The service's name.
    public let name: String
    /// What requests must look like; it is published, so that callers are told before they send.
    public let schema: AllowedValueSchema
    /// What answers must look like.
    public let responseSchema: AllowedValueSchema
    /// How many requests of one connection are handled at the same time; `nil` for as many as come, 1 for one after
    /// the other. Requests always start in the order in which they were sent.
    public let concurrentRequests: Int?
    /// Where the handler runs.
    public let execution: Execution

    let provider: any AppServiceProvider

    /// A service answered by a closure.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form, 1 to 256 bytes. Names that start with `remote-systems.` are
    ///     taken.
    ///   - schema: what requests must look like. It is published, so that callers are told before they send.
    ///   - responseSchema: what answers must look like.
    ///   - concurrentRequests: how many requests of one connection are handled at the same time; `nil` for as many as
    ///     come, 1 for one after the other.
    ///   - execution: where the handler runs.
    ///   - handler: answers a request; starts on the connection's event loop unless `execution` says otherwise. Its task
    ///     is cancelled when the caller cancels, stops waiting, or goes away.
    public init(
        _ name: String,
        schema: AllowedValueSchema = .appService,
        responseSchema: AllowedValueSchema = .appService,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        handler: @escaping @Sendable (AppServiceRequest) async throws -> ValueSet
    ) {
        self.init(
            name,
            schema: schema,
            responseSchema: responseSchema,
            concurrentRequests: concurrentRequests,
            execution: execution,
            provider: ClosureProvider(handler: handler)
        )
    }

    /// A service answered by a type of your own.
    public init(
        _ name: String,
        schema: AllowedValueSchema = .appService,
        responseSchema: AllowedValueSchema = .appService,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        provider: some AppServiceProvider
    ) {
        self.name = name
        self.schema = schema
        self.responseSchema = responseSchema
        self.concurrentRequests = concurrentRequests
        self.execution = execution
        self.provider = provider
    }
}

private struct ClosureProvider: AppServiceProvider {
    let handler: @Sendable (AppServiceRequest) async throws -> ValueSet

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        try await self.handler(request)
    }
}
