// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts applications through the message bus, or through the service manager over the bus.
struct BusActivation: Sendable {
    /// The session bus, or the system bus if there is no session bus.
    let bus: MessageBus

    init(environment: [String: String]) {
        let isSession = environment["DBUS_SESSION_BUS_ADDRESS"] != nil || environment["XDG_RUNTIME_DIR"] != nil
        self.bus = isSession ? .session : .system
    }

    /// Starts the owner of a well-known name (D-Bus Specification, `StartServiceByName`).
    func activate(_ name: String) async throws {
        try await self.perform(.bus("StartServiceByName", [.string(name), .uint32(0)]))
    }

    /// Starts a unit of the service manager on this bus.
    func startUnit(_ unit: String) async throws {
        try await self.perform(
            MessageBus.Call(
                destination: "org.freedesktop.systemd1",
                path: "/org/freedesktop/systemd1",
                interface: "org.freedesktop.systemd1.Manager",
                method: "StartUnit",
                arguments: [.string(unit), .string("replace")]
            )
        )
    }

    /// Calls `Activate` of an application, which the bus starts if it is not running.
    func activateApplication(_ name: String, objectPath: String) async throws {
        try await self.perform(.application(name, objectPath, "Activate", [.noOptions]))
    }

    /// Makes a call. The host cancels the task when it no longer waits for the start.
    private func perform(_ call: MessageBus.Call) async throws {
        let bus = self.bus
        let result = await BlockingCalls.run(atMost: MessageBus.maxDuration) { cancellable in
            Result { () throws(MessageBus.Failure) in try bus.perform(call, cancellable) }
        }
        do throws(MessageBus.Failure) {
            try result.get()
        } catch {
            let message = error.message.isEmpty || error.message.hasSuffix(".") ? error.message : error.message + "."
            throw StartFailure(
                "\(call.method) on the \(bus.rawValue) bus failed\(message.isEmpty ? "." : ": \(message)")"
            )
        }
    }
}
