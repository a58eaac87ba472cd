// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Instrumentation
internal import RemoteSystemsIdentity

/// Carries the trace that a request belongs to from one system to the other, in the request's metadata, through whatever
/// instrument the program has installed (swift-distributed-tracing).
///
/// Without one it costs a look at a task-local value for each request, on each side: nothing is allocated, nothing sent. Nothing of a trace is
/// sent to, or taken from, a system of another account.
enum TraceContext {
    // MARK: Sending

    /// The metadata, with what names the current trace added to it.
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

    /// Whether traces go on from one system to the other: only within one account, since a trace shows what led to a
    /// request.
    private static func isShared(with standing: Standing) -> Bool {
        switch standing {
        case .sameAccount: true
        case .linked, .anonymous: false
        }
    }

    // MARK: Handling

    /// The context that a request must be handled in.
    enum Scope {
        /// The one that is current: none.
        case unchanged
        /// Another one: the request's, or none where the code that happens to run here has one.
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

    /// Runs the body in the request's context.
    @inline(__always)
    static func handling<Result>(_ request: AppServiceRequest, _ body: () -> Result) -> Result {
        switch Self.scope(of: request) {
        case .unchanged: body()
        case .bound(let context): ServiceContext.$current.withValue(context, operation: body)
        }
    }

    /// Runs the body in the request's context.
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
    /// What the rules do not allow, or what does not fit, is left out: a trace must not make a request fail.
    func inject(_ value: String, forKey key: String, into carrier: inout RequestMetadata) {
        carrier.setIfAllowed(value, forKey: key)
    }
}

struct MetadataExtractor: Extractor {
    /// W3C Trace Context: version 00 has 55 bytes, later versions may have more.
    private static let maxTraceParentBytes = 128
    /// W3C Trace Context: a vendor should pass on at least so many.
    private static let maxTraceStateBytes = 512

    func extract(key: String, from carrier: RequestMetadata) -> String? {
        guard let value = carrier[key] else { return nil }
        // Tracers keep both with every span, so a peer must not choose how large they are.
        switch key.lowercased() {
        case "traceparent" where value.utf8.count > Self.maxTraceParentBytes: return nil
        case "tracestate" where value.utf8.count > Self.maxTraceStateBytes: return nil
        default: return value
        }
    }
}
