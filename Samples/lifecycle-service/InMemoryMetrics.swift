// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// A metrics backend that keeps sums in memory and prints them in the text format of Prometheus.
final class InMemoryMetrics: MetricsFactory {
    private struct Figure {
        var sum = 0.0
        var count: Int?
    }

    private let figures = Mutex<[String: Figure]>([:])

    /// One line per sum, in the order of names.
    var text: String {
        let figures = self.figures.withLock { $0 }
        return figures.sorted { $0.key < $1.key }.map { name, figure in
            guard let count = figure.count else { return "\(name) \(Int(figure.sum))" }
            let mean = count == 0 ? 0 : figure.sum / Double(count)
            return "\(name) count \(count), mean \(Int(mean / 1000)) µs"
        }.joined(separator: "\n")
    }

    private func add(_ name: String, _ value: Double, counts: Bool = false) {
        self.figures.withLock { figures in
            var figure = figures[name] ?? Figure()
            figure.sum += value
            if counts { figure.count = (figure.count ?? 0) + 1 }
            figures[name] = figure
        }
    }

    private func set(_ name: String, _ value: Double) {
        self.figures.withLock { $0[name] = Figure(sum: value) }
    }

    private static func name(_ label: String, _ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return label }
        return "\(label){\(dimensions.map { "\($0)=\"\($1)\"" }.joined(separator: ","))}"
    }

    // MARK: MetricsFactory

    private final class Handler: CounterHandler, MeterHandler, TimerHandler, RecorderHandler {
        private let name: String
        private let owner: InMemoryMetrics

        init(name: String, owner: InMemoryMetrics) {
            self.name = name
            self.owner = owner
        }

        func increment(by amount: Int64) { self.owner.add(self.name, Double(amount)) }
        func reset() { self.owner.set(self.name, 0) }
        func set(_ value: Int64) { self.owner.set(self.name, Double(value)) }
        func set(_ value: Double) { self.owner.set(self.name, value) }
        func increment(by amount: Double) { self.owner.add(self.name, amount) }
        func decrement(by amount: Double) { self.owner.add(self.name, -amount) }
        func recordNanoseconds(_ duration: Int64) { self.owner.add(self.name, Double(duration), counts: true) }
        func record(_ value: Int64) { self.owner.add(self.name, Double(value), counts: true) }
        func record(_ value: Double) { self.owner.add(self.name, value, counts: true) }
    }

    private func handler(_ label: String, _ dimensions: [(String, String)]) -> Handler {
        Handler(name: Self.name(label, dimensions), owner: self)
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.handler(label, dimensions)
    }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.handler(label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.handler(label, dimensions)
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        self.handler(label, dimensions)
    }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
}
