// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// Where pings go.
struct PingTarget: Sendable {
    var name: String
    var request: RemoteSystemConnectionRequest

    /// By address at once; by name or id as soon as a watcher tells of a system that fits.
    static func find(
        _ text: String?,
        service: String,
        wait: Duration,
        _ configuration: RemoteSystemsConfiguration
    ) async throws -> PingTarget {
        if let text, let address = SystemAddress(text) {
            return PingTarget(
                name: text,
                request: RemoteSystemConnectionRequest(
                    host: address.host,
                    port: address.port ?? ServeCommand.usualPort,
                    configuration: configuration
                )
            )
        }
        let search = Search(text: text, service: service)
        let watcher = RemoteSystemWatcher(configuration)
        let events = watcher.events
        try await watcher.start()
        let stop = Task {
            try await Task.sleep(for: wait)
            await watcher.stop()
        }
        defer { stop.cancel() }
        var others: [RemoteSystem] = []
        for await event in events {
            switch event {
            case .added(let system), .updated(let system):
                guard search.names(system) else { continue }
                if search.offers(system) {
                    return PingTarget(
                        name: system.displayName.printable,
                        request: RemoteSystemConnectionRequest(system: system)
                    )
                }
                others.append(system)
            case .removed, .enumerationCompleted, .error: break
            }
        }
        try Task.checkCancellation()
        throw search.notFound(others, wait: wait)
    }

    private struct Search {
        var text: String?
        var service: String

        func names(_ system: RemoteSystem) -> Bool {
            guard let text else { return true }
            return system.displayName == text || text.count >= 4 && system.id.description.hasPrefix(text)
        }

        func offers(_ system: RemoteSystem) -> Bool {
            system.applications.contains { $0.services.contains { $0.name == self.service } }
        }

        func notFound(_ others: [RemoteSystem], wait: Duration) -> Failure {
            let name = self.text.map { " called \($0)" } ?? ""
            if let other = others.last {
                let services = Set(other.applications.flatMap(\.services).map(\.name)).sorted()
                return Failure(
                    "refused",
                    "\(other.displayName) is there and offers no service \(self.service)"
                        + (services.isEmpty ? "." : ", only \(services.joined(separator: ", ")).")
                        + " Run 'remotesystems serve' there, or name another service with --service.",
                    canRetry: true
                )
            }
            return Failure(
                "unreachable",
                "No system\(name) of this account was found in \(wait.components.seconds) s. Is 'remotesystems serve' "
                    + "running there, on the same network and in the same account? 'remotesystems doctor' looks for "
                    + "causes here.",
                canRetry: true
            )
        }
    }
}

/// `host:port`, `[ipv6]:port`, or an address alone.
struct SystemAddress: Sendable, Hashable {
    var host: String
    var port: Int?

    /// Nil for what is a name of a system, or the beginning of an id, rather than an address.
    init?(_ text: String) {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") && Self.port(rest.dropFirst()) != nil else { return nil }
            self.host = String(text[text.index(after: text.startIndex)..<end])
            self.port = Self.port(rest.dropFirst())
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let port = Self.port(parts[1]), !parts[0].isEmpty {
            self.host = String(parts[0])
            self.port = port
        } else if parts.count > 2 || Self.isIPv4(text) {
            self.host = text
        } else {
            return nil
        }
    }

    private static func port(_ text: Substring) -> Int? {
        Int(text).flatMap { (1...65_535).contains($0) ? $0 : nil }
    }

    private static func isIPv4(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
