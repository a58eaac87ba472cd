// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts a dbus-daemon and waits until it accepts connections.
///
/// - Parameter arguments: The kind of bus and its address.
package func startMessageBus(_ arguments: [String], environment: [String: String] = [:]) async throws -> ChildProcess {
    let bus = try ChildProcess(
        ["dbus-daemon"] + arguments + ["--nofork", "--nopidfile", "--nosyslog", "--print-address"],
        environment: environment,
        // The bus reports failed service starts on stderr, and some tests cause them on purpose.
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
