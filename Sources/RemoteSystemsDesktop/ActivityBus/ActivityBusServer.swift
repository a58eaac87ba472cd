// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import Synchronization
internal import ValueSets

/// One connection to the session bus, on which programs call hand-off.
final class ActivityBusServer: Sendable {
    /// The time that a program has to continue an activity.
    private static let continueTimeout = Duration.seconds(30)

    /// The maximum number of calls of one program, and of all programs, that are handled at the same time.
    private static let maxCallsOfProgram = 16
    private static let maxCalls = 256

    private let loop = BusLoop()
    /// The programs whose calls are handled now.
    private let calls = Mutex<[String: Calls]>([:])
    private let events: AsyncStream<Event>.Continuation

    enum Event: Sendable {
        case call(ActivityBusCall, sender: String, BusInvocation)
        /// A program has left the bus. Reported again when the last of its calls is over, since that may have begun
        /// something for it.
        case left(String)
    }

    private struct Calls {
        var count = 0
        var hasLeft = false
    }

    init(_ events: AsyncStream<Event>.Continuation) { self.events = events }

    func stop() { self.loop.stop() }

    func run() throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe try self.offerInterface(connection)
            unsafe try self.followPrograms(connection)
            unsafe try self.loop.requestName(ActivityBusInterface.name, connection)
        }
    }

    private func offerInterface(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        var error: UnsafeMutablePointer<GError>?
        guard let node = unsafe g_dbus_node_info_new_for_xml(ActivityBusInterface.introspection, &error) else {
            throw unsafe MessageBus.failure(error)
        }
        defer { unsafe g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        unsafe table.method_call = { _, sender, _, _, method, parameters, invocation, data in
            guard let data = unsafe data, let sender = unsafe sender, let method = unsafe method,
                let parameters = unsafe parameters, let invocation = unsafe invocation
            else { return }
            let server = unsafe Unmanaged<ActivityBusServer>.fromOpaque(data).takeUnretainedValue()
            unsafe server.received(String(cString: method), parameters, String(cString: sender), invocation)
        }
        unsafe table.get_property = { _, _, _, _, _, _, _ in unsafe g_variant_new_uint32(1) }
        let number = unsafe g_dbus_connection_register_object(
            connection,
            ActivityBusInterface.path,
            node.pointee.interfaces[0],
            &table,
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<ActivityBusServer>.fromOpaque(data).release() } },
            &error
        )
        guard number != 0 else { throw unsafe MessageBus.failure(error) }
    }

    private func received(_ method: String, _ parameters: OpaquePointer, _ sender: String, _ pointer: OpaquePointer) {
        let invocation = unsafe BusInvocation(pointer)
        do throws(ActivityBusError) {
            let call = unsafe try ActivityBusCall(method, parameters)
            guard self.begin(sender) else {
                throw ActivityBusError(code: "localResources", message: "Too many calls are waiting. Try again later.")
            }
            self.events.yield(.call(call, sender: sender, invocation))
        } catch {
            invocation.fail(error)
        }
    }

    private func begin(_ sender: String) -> Bool {
        self.calls.withLock { calls in
            guard calls[sender]?.count ?? 0 < Self.maxCallsOfProgram,
                calls.values.reduce(0, { $0 + $1.count }) < Self.maxCalls
            else { return false }
            calls[sender, default: Calls()].count += 1
            return true
        }
    }

    /// A call was responded to.
    func handled(_ sender: String) {
        let hasLeft = self.calls.withLock { calls in
            calls[sender]?.count -= 1
            guard calls[sender]?.count == 0 else { return false }
            return calls.removeValue(forKey: sender)?.hasLeft ?? false
        }
        if hasLeft { self.events.yield(.left(sender)) }
    }

    private func left(_ sender: String) {
        self.calls.withLock { $0[sender]?.hasLeft = true }
        self.events.yield(.left(sender))
    }

    private func followPrograms(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        let rule = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'"
        unsafe try MessageBus.send(.bus("AddMatch", [.string(rule)]), over: connection, self.loop.cancellable)
        unsafe g_dbus_connection_signal_subscribe(
            connection,
            nil,
            "org.freedesktop.DBus",
            "NameOwnerChanged",
            nil,
            nil,
            G_DBUS_SIGNAL_FLAGS_NONE,
            { _, sender, _, interface, member, parameters, data in
                guard let data = unsafe data, let parameters = unsafe parameters,
                    let signal = unsafe BusSignal(sender, interface, member, parameters),
                    signal.sender == "org.freedesktop.DBus", signal.texts.count == 3, signal.texts[2].isEmpty
                else { return }
                let server = unsafe Unmanaged<ActivityBusServer>.fromOpaque(data).takeUnretainedValue()
                server.left(signal.texts[0])
            },
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<ActivityBusServer>.fromOpaque(data).release() } }
        )
    }

    // MARK: Calling programs

    /// Sends a signal to one program, or to all.
    func emit(_ signal: String, to program: String? = nil, _ values: [MessageBus.Argument] = []) {
        self.loop.post { connection in
            unsafe g_dbus_connection_emit_signal(
                connection.pointer,
                program,
                ActivityBusInterface.path,
                ActivityBusInterface.name,
                signal,
                MessageBus.tuple(values),
                nil
            )
        }
    }

    /// Lets a program continue an activity.
    ///
    /// - Returns: whether it has.
    func `continue`(_ values: [MessageBus.Argument], in program: String) async throws(MessageBus.Failure) -> Bool {
        let call = MessageBus.Call(
            destination: program,
            path: ActivityBusInterface.handlerPath,
            interface: ActivityBusInterface.handler,
            method: "Continue",
            arguments: values
        )
        return try await self.loop.call(call, within: Self.continueTimeout) { response in
            unsafe BusSignal.bool(of: response.pointer) ?? false
        }
    }

    /// The process id of a program on the bus.
    func processID(of program: String) async -> Int32? {
        let call = MessageBus.Call.bus("GetConnectionUnixProcessID", [.string(program)])
        let id = try? await self.loop.call(call, within: .seconds(5)) { unsafe BusSignal.number(of: $0.pointer) }
        return id.flatMap { $0 }.flatMap { Int32(exactly: $0) }
    }
}
