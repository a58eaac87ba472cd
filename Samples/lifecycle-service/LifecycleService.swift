// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Logging
import Metrics
import RemoteSystems
import RemoteSystemsTracing
import ServiceLifecycle
import Tracing

/// A long-running program with work of its own, in which a host is one service among others.
@main
struct LifecycleService {
    static func main() async throws {
        // Whatever backend the program uses: this one keeps its figures in memory and prints them.
        let metrics = InMemoryMetrics()
        MetricsSystem.bootstrap(metrics)
        // The same with the tracer. One that exports to OpenTelemetry is set here in the same way.
        let tracer = InMemoryTracer(recordInjections: false, recordExtractions: false)
        InstrumentationSystem.bootstrap(tracer)

        var configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.lifecycle-service",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        // Around every request: a span, then a line in the log.
        configuration.interceptors.server = [TracingServerInterceptor(), RequestLog(logger: configuration.logger)]
        let heating = AppService("org.example.heating") { request in
            guard let celsius = request.message["Celsius"]?.double, (5...25).contains(celsius) else {
                throw AppServiceFailure("Celsius is a number from 5 to 25.")
            }
            return try await withSpan("set the valves") { _ in
                try await Task.sleep(for: .milliseconds(10))
                return ["Celsius": .double(celsius)]
            }
        }
        // Around this service alone: who may call it.
        let services = [.ping, heating.intercepted(by: KeyCheck(key: "open sesame"))]
        let host = RemoteSystemHost(configuration, services: services)
        // Started in this order and shut down in the other one: the host stops taking requests first, and its last
        // figures are still printed.
        let group = ServiceGroup(
            services: [MetricsPrinter(metrics: metrics, tracer: tracer), host, Thermometer(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        )
        try await group.run()
    }
}

/// The program's own work: measures every few seconds, and lets the other systems of the account see it.
struct Thermometer: Service {
    let host: RemoteSystemHost

    func run() async throws {
        say("ready: answering on port \(try await self.host.port)")
        try await cancelWhenGracefulShutdown {
            for measurement in 1... {
                let temperature = 20 + Double(measurement % 10) / 10
                try await self.host.update(attributes: ["Temperature": "\(temperature) °C"])
                try? await Task.sleep(for: .seconds(2))
                if Task.isCancelled { return }
            }
        }
    }
}

/// Prints all figures and the newest spans every ten seconds, and at the end.
struct MetricsPrinter: Service {
    let metrics: InMemoryMetrics
    let tracer: InMemoryTracer

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(10))
                for span in self.tracer.popFinishedSpans() {
                    let parent = span.parentSpanID.map { " in \($0)" } ?? ""
                    say("\(span.traceID) \(span.spanID)\(parent): \(span.operationName), \(span.kind)")
                }
                say(self.metrics.text)
            }
        }
    }
}

/// Without a buffer, so that a line is there as soon as it is told, for a pipe too.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
