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

/// A long-running program in which a host is one of several services.
@main
struct LifecycleService {
    static func main() async throws {
        // Any metrics backend works. This one keeps its values in memory and prints them.
        let metrics = InMemoryMetrics()
        MetricsSystem.bootstrap(metrics)
        // Any tracer works, such as one that exports to OpenTelemetry.
        let tracer = InMemoryTracer(recordInjections: false, recordExtractions: false)
        InstrumentationSystem.bootstrap(tracer)

        var configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.lifecycle-service",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        // Interceptors of every request: a span, then a log line.
        configuration.interceptors.server = [TracingServerInterceptor(), RequestLog(logger: configuration.logger)]
        let heating = AppService("org.example.heating") { request in
            guard let celsius = request.message["Celsius"]?.double, (5...25).contains(celsius) else {
                throw AppServiceFailure("Celsius must be a number from 5 to 25.")
            }
            return try await withSpan("set the valves") { _ in
                try await Task.sleep(for: .milliseconds(10))
                return ["Celsius": .double(celsius)]
            }
        }
        // An interceptor of one service only: it checks the caller.
        let services = [.ping, heating.intercepted(by: KeyCheck(key: "open sesame"))]
        let host = RemoteSystemHost(configuration, services: services)
        // ServiceGroup starts the services in this order and shuts them down in reverse. The host therefore ends before
        // the printer, which still prints the host's last metrics.
        let group = ServiceGroup(
            services: [MetricsPrinter(metrics: metrics, tracer: tracer), host, Thermometer(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        )
        try await group.run()
    }
}

/// The program's own work: measures every 2 s, and publishes the value as an attribute to the account's systems.
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

/// Prints all metrics and the newest spans every 10 s, and at the end.
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

/// Prints text unbuffered, so that a reader of a pipe gets it at once.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
