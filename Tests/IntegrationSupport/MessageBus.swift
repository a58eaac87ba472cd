// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts a dbus-daemon, and waits until it takes callers.
///
/// - Parameter arguments: What kind of bus it is, and where.
package func startMessageBus(_ arguments: [String], environment: [String: String] = [:]) async throws -> ChildProcess {
    let bus = try ChildProcess(
        ["dbus-daemon"] + arguments + ["--nofork", "--nopidfile", "--nosyslog", "--print-address"],
        environment: environment,
        // It tells there of services that fail to start, which is what some tests want.
        readsErrors: true
    )
    do {
        _ = try await eventually("the bus") {
            if let code = bus.exitCode { throw IntegrationError("the bus ended with \(code)") }
            return bus.lines.contains { $0.hasPrefix("unix:") } ? true : nil
        }
        return bus
    } catch {
        await bus.stop()
        throw IntegrationError("\(error): \(bus.lines)")
    }
}
