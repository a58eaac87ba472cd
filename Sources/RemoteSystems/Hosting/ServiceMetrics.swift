// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Metrics
internal import RemoteSystemsTransport

/// The metrics of one service, for the process's metrics backend (swift-metrics). Created once per service, because
/// looking up a metric costs more than a request.
struct ServiceMetrics: Sendable {
    private let succeeded: Counter
    private let failed: Counter
    private let duration: Timer
    private let connectionsOpened: Counter
    private let connectionsClosed: Counter

    init(service: String) {
        let dimensions = [("service", service)]
        self.succeeded = Counter(
            label: "remote_systems_requests_total",
            dimensions: dimensions + [("status", "success")]
        )
        self.failed = Counter(label: "remote_systems_requests_total", dimensions: dimensions + [("status", "failure")])
        self.duration = Timer(label: "remote_systems_request_duration", dimensions: dimensions)
        self.connectionsOpened = Counter(label: "remote_systems_connections_opened_total", dimensions: dimensions)
        self.connectionsClosed = Counter(label: "remote_systems_connections_closed_total", dimensions: dimensions)
    }

    func handled(status: ResponseStatus, nanoseconds: Int64) {
        (status == .success ? self.succeeded : self.failed).increment()
        self.duration.recordNanoseconds(nanoseconds)
    }

    func connectionOpened() { self.connectionsOpened.increment() }
    func connectionClosed() { self.connectionsClosed.increment() }
}
