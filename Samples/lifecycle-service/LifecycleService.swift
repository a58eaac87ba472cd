// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Metrics
import RemoteSystems
import ServiceLifecycle

/// A long-running program with work of its own, in which a host is one service among others.
@main
struct LifecycleService {
    static func main() async throws {
        // Whatever backend the program uses: this one keeps its figures in memory and prints them.
        let metrics = InMemoryMetrics()
        MetricsSystem.bootstrap(metrics)

        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.lifecycle-service",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        let host = RemoteSystemHost(configuration, services: [.ping])
        // Started in this order and shut down in the other one: the host stops taking requests first, and its last
        // figures are still printed.
        let group = ServiceGroup(
            services: [MetricsPrinter(metrics: metrics), host, Thermometer(host: host)],
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

/// Prints all figures every ten seconds, and at the end.
struct MetricsPrinter: Service {
    let metrics: InMemoryMetrics

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(10))
                say(self.metrics.text)
            }
        }
    }
}

/// Without a buffer, so that a line is there as soon as it is told, for a pipe too.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
