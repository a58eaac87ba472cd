// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Instrumentation
internal import RemoteSystemsIdentity

/// Propagates the trace of a request to the other system in the request's metadata, with the instrument that the
/// program has installed (swift-distributed-tracing).
///
/// Without an instrument, a request costs one check of a task-local value on each side, without an allocation and
/// without data on the wire. Traces are neither sent to systems of other accounts nor accepted from them.
enum TraceContext {
    // MARK: Sending

    /// Returns the metadata with the current trace added.
    @inline(__always)
    static func inject(into metadata: RequestMetadata, for peer: AppServiceCaller) -> RequestMetadata {
        guard let context = ServiceContext.current else { return metadata }
        return Self.inject(context, into: metadata, for: peer)
    }

    @inline(never)
    private static func inject(
        _ context: ServiceContext,
        into metadata: RequestMetadata,
        for peer: AppServiceCaller
    ) -> RequestMetadata {
        guard Self.isShared(with: peer.standing) else { return metadata }
        var metadata = metadata
        InstrumentationSystem.instrument.inject(context, into: &metadata, using: MetadataInjector())
        return metadata
    }

    /// Whether traces are shared with a system: only within one account, since a trace shows what caused a request.
    private static func isShared(with standing: Standing) -> Bool {
        switch standing {
        case .sameAccount: true
        case .linked, .anonymous: false
        }
    }

    // MARK: Handling

    /// The service context in which a request must be handled.
    enum Scope {
        /// The present service context, which is empty.
        case unchanged
        /// Another service context: the request's, or `nil` to hide the service context of the calling code.
        case bound(ServiceContext?)
    }

    @inline(__always)
    static func scope(of request: AppServiceRequest) -> Scope {
        if request.metadata.isEmpty, ServiceContext.current == nil { return .unchanged }
        return Self.extractedScope(of: request)
    }

    @inline(never)
    private static func extractedScope(of request: AppServiceRequest) -> Scope {
        if !request.metadata.isEmpty, Self.isShared(with: request.caller.standing) {
            var context = ServiceContext.topLevel
            InstrumentationSystem.instrument.extract(request.metadata, into: &context, using: MetadataExtractor())
            if !context.isEmpty { return .bound(context) }
        }
        // An event loop may start a handler while it runs code of another request.
        return ServiceContext.current == nil ? .unchanged : .bound(nil)
    }

    /// Runs the body in the request's service context.
    @inline(__always)
    static func handling<Result>(_ request: AppServiceRequest, _ body: () -> Result) -> Result {
        switch Self.scope(of: request) {
        case .unchanged: body()
        case .bound(let context): ServiceContext.$current.withValue(context, operation: body)
        }
    }

    /// Runs the body in the request's service context.
    @inline(__always)
    static func handling<Result: Sendable>(
        _ request: AppServiceRequest,
        _ body: () async -> Result
    ) async -> Result {
        switch Self.scope(of: request) {
        case .unchanged: await body()
        case .bound(let context): await ServiceContext.$current.withValue(context, operation: body)
        }
    }
}

struct MetadataInjector: Injector {
    /// Adds a value. Leaves out values that break the rules or do not fit: a trace must not make a request fail.
    func inject(_ value: String, forKey key: String, into carrier: inout RequestMetadata) {
        carrier.setIfAllowed(value, forKey: key)
    }
}

struct MetadataExtractor: Extractor {
    /// The maximum length of `traceparent`, in bytes. By W3C Trace Context, version 00 has 55 bytes, and later versions
    /// may have more.
    private static let maxTraceParentBytes = 128
    /// The maximum length of `tracestate`, in bytes. W3C Trace Context recommends to propagate at least this many.
    private static let maxTraceStateBytes = 512

    func extract(key: String, from carrier: RequestMetadata) -> String? {
        guard let value = carrier[key] else { return nil }
        // Tracers store both values with every span, so a peer must not determine their size.
        switch key.lowercased() {
        case "traceparent" where value.utf8.count > Self.maxTraceParentBytes: return nil
        case "tracestate" where value.utf8.count > Self.maxTraceStateBytes: return nil
        default: return value
        }
    }
}
