// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Logging
import RemoteSystemsDiscovery

/// Performs what the options say, with the public API only.
struct Probe {
    let options: Options

    func run() async {
        var logger = Logger(label: "probe") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = options.isVerbose ? .trace : .critical
        let discovery = AvahiDiscovery(mode: options.mode, interfaces: options.interfaces, logger: logger)
        switch options.command {
        case .select:
            let selection = await discovery.selected()
            Output.line(["event": "selected", "backend": selection.backend.rawValue, "reason": selection.reason])
        case .browse:
            await untilReported { await browse(discovery) }
        case .advertise:
            await untilReported { await advertise(discovery) }
        case .cycle:
            await cycle(discovery)
        }
    }

    private func browse(_ discovery: AvahiDiscovery) async {
        Output.line(["event": "browsing"])
        for await event in discovery.browse() {
            switch event {
            case .appeared(let hint): emit("appeared", hint)
            case .changed(let hint): emit("changed", hint)
            case .vanished(let id): Output.line(["event": "vanished", "id": id])
            case .settled: Output.line(["event": "settled"])
            case .trouble(let trouble): Output.line(["event": "trouble", "code": trouble.code.description])
            case .recovered(let code): Output.line(["event": "recovered", "code": code.description])
            }
        }
        Output.line(["event": "ended"])
    }

    private func emit(_ event: String, _ hint: DiscoveryHint) {
        let properties = hint.properties.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" }
        Output.line([
            "event": event,
            "id": hint.id,
            "endpoints": hint.endpoints.map(\.description).joined(separator: " "),
            "interfaces": hint.endpoints.map { $0.interface?.name ?? "" }.joined(separator: " "),
            "properties": properties.joined(separator: " "),
        ])
    }

    private func advertise(_ discovery: AvahiDiscovery) async {
        await withTaskGroup { group in
            for number in 0..<options.count {
                let advertisement = DiscoveryAdvertisement(
                    instance: options.count == 1 ? options.instance : "\(options.instance)-\(number)",
                    port: options.port,
                    properties: options.properties
                )
                group.addTask {
                    do {
                        try await discovery.advertise(advertisement) { isInEffect in
                            Output.line(["event": isInEffect ? "in-effect" : "not-in-effect"])
                        }
                    } catch {
                        Output.line(["event": "error", "message": "\(error)"])
                    }
                }
            }
            Output.line(["event": "announcing"])
            await group.waitForAll()
        }
        Output.line(["event": "withdrawn"])
    }

    /// Creates and frees browses and advertisements many times, and counts open files.
    private func cycle(_ discovery: AvahiDiscovery) async {
        for round in 0..<options.count {
            await withTaskGroup { group in
                group.addTask {
                    for await event in discovery.browse() {
                        if case .appeared = event { break }
                    }
                }
                let advertisement = DiscoveryAdvertisement(instance: "\(options.instance)-\(round)", port: options.port)
                let advertising = Task { try await discovery.advertise(advertisement) }
                await group.waitForAll()
                advertising.cancel()
                _ = await advertising.result
            }
            if round % 20 == 0 || round == options.count - 1 {
                // The Avahi connection is freed on its dispatch queue, after the tasks have ended.
                try? await Task.sleep(for: .milliseconds(50))
                Output.line(["event": "round", "number": "\(round)", "files": "\(Self.openFiles())"])
            }
        }
    }

    private static func openFiles() -> Int {
        (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
    }

    /// Runs the body until the parent closes stdin or sends SIGTERM.
    private func untilReported(_ body: @escaping @Sendable () async -> Void) async {
        signal(SIGTERM, SIG_IGN)
        // The body prints, and the test may respond with a signal at once. So the body starts only after the signal
        // handler is installed.
        let (unheeded, heeded) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await _ in unheeded {}
            await body()
        }
        let terminated = DispatchSource.makeSignalSource(signal: SIGTERM)
        terminated.setRegistrationHandler { heeded.finish() }
        terminated.setEventHandler {
            Output.line(["event": "withdrawing"])
            task.cancel()
        }
        terminated.resume()
        let input = DispatchSource.makeReadSource(fileDescriptor: 0)
        input.setEventHandler {
            var byte: UInt8 = 0
            if unsafe read(0, &byte, 1) <= 0 { task.cancel() }
        }
        input.resume()
        await task.value
        input.cancel()
        terminated.cancel()
    }
}
