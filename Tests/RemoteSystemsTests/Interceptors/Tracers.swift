// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import InMemoryTracing
import Instrumentation
import Tracing

/// The tracers of this process: one that records spans, and one that propagates W3C Trace Context.
///
/// A process has one instrument, so all tests share it. Each test reads its own trace.
enum Tracers {
    static let inMemory: InMemoryTracer = {
        let tracer = InMemoryTracer(recordInjections: false, recordExtractions: false)
        InstrumentationSystem.bootstrap(MultiplexInstrument([tracer, W3CInstrument()]))
        return tracer
    }()

    /// The finished spans of one trace, in the order in which they ended.
    static func spans(of trace: String) -> [FinishedInMemorySpan] {
        Self.inMemory.finishedSpans.filter { $0.traceID == trace }
    }
}

/// A trace as W3C Trace Context writes it.
struct W3CTrace: Equatable {
    var parent: String
    var state: String?
}

extension ServiceContext {
    private enum W3CKey: ServiceContextKey { typealias Value = W3CTrace }

    var w3c: W3CTrace? {
        get { self[W3CKey.self] }
        set { self[W3CKey.self] = newValue }
    }
}

/// Propagates `traceparent` and `tracestate` under the names that HTTP servers use.
private struct W3CInstrument: Instrument {
    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        context.w3c = W3CTrace(parent: parent, state: extractor.extract(key: "TraceState", from: carrier))
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.w3c else { return }
        injector.inject(trace.parent, forKey: "TraceParent", into: &carrier)
        if let state = trace.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}
