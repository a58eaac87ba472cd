// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import RemoteSystems
internal import Synchronization

/// One connection to the session bus, on which programs call an interface of the host daemon.
final class BusObjectServer: Sendable {
    /// The maximum number of calls of one program, and of all programs, that are handled at the same time.
    private static let maxCallsOfProgram = 16
    private static let maxCalls = 256

    let interface: BusInterface
    private let loop = BusLoop()
    /// The programs whose calls are handled now.
    private let calls = Mutex<[String: Calls]>([:])
    private let events: AsyncStream<Event>.Continuation

    enum Event: Sendable {
        case call(method: String, BusArguments, sender: String, BusInvocation)
        /// A program has left the bus. Reported again when the last of its calls is over, since that may have begun
        /// something for it.
        case left(String)
    }

    private struct Calls {
        var count = 0
        var hasLeft = false
    }

    init(_ interface: BusInterface, _ events: AsyncStream<Event>.Continuation) {
        self.interface = interface
        self.events = events
    }

    func stop() { self.loop.stop() }

    func run() throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe try self.offerInterface(connection)
            unsafe try self.followPrograms(connection)
            unsafe try self.loop.requestName(self.interface.name, connection)
        }
    }

    private func offerInterface(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        var error: UnsafeMutablePointer<GError>?
        guard let node = unsafe g_dbus_node_info_new_for_xml(self.interface.introspection, &error) else {
            throw unsafe MessageBus.failure(error)
        }
        defer { unsafe g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        unsafe table.method_call = { _, sender, _, _, method, parameters, invocation, data in
            guard let data = unsafe data, let sender = unsafe sender, let method = unsafe method,
                let parameters = unsafe parameters, let invocation = unsafe invocation
            else { return }
            let server = unsafe Unmanaged<BusObjectServer>.fromOpaque(data).takeUnretainedValue()
            unsafe server.received(String(cString: method), parameters, String(cString: sender), invocation)
        }
        unsafe table.get_property = { _, _, _, _, _, _, _ in unsafe g_variant_new_uint32(1) }
        let number = unsafe g_dbus_connection_register_object(
            connection,
            self.interface.path,
            node.pointee.interfaces[0],
            &table,
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<BusObjectServer>.fromOpaque(data).release() } },
            &error
        )
        guard number != 0 else { throw unsafe MessageBus.failure(error) }
    }

    private func received(_ method: String, _ parameters: OpaquePointer, _ sender: String, _ pointer: OpaquePointer) {
        let invocation = unsafe BusInvocation(pointer, self.interface)
        do throws(BusCallError) {
            try self.interface.checkSize(Int(unsafe g_variant_get_size(parameters)))
        } catch {
            return invocation.fail(error)
        }
        guard self.begin(sender) else {
            return invocation.fail(
                BusCallError(code: "localResources", message: "Too many calls are waiting. Try again later.")
            )
        }
        self.events.yield(.call(method: method, unsafe BusArguments(parameters), sender: sender, invocation))
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

    /// Whether a program has left the bus while one of its calls is handled. It is so before that is reported.
    func hasLeft(_ sender: String) -> Bool { self.calls.withLock { $0[sender]?.hasLeft ?? false } }

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
                let server = unsafe Unmanaged<BusObjectServer>.fromOpaque(data).takeUnretainedValue()
                server.left(signal.texts[0])
            },
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<BusObjectServer>.fromOpaque(data).release() } }
        )
    }

    // MARK: Calling programs

    /// Sends a signal to one program, or to all.
    func emit(_ signal: String, to program: String? = nil, _ values: [MessageBus.Argument] = []) {
        self.loop.post { connection in
            unsafe g_dbus_connection_emit_signal(
                connection.pointer,
                program,
                self.interface.path,
                self.interface.name,
                signal,
                MessageBus.tuple(values),
                nil
            )
        }
    }

    /// Calls a method of a program, and reads its response on the loop's thread.
    func call<Response: Sendable>(
        _ call: MessageBus.Call,
        within timeout: Duration,
        read: @escaping @Sendable (BusResponse) -> Response
    ) async throws(MessageBus.Failure) -> Response {
        try await self.loop.call(call, within: timeout, read: read)
    }

    /// The process of a program on the bus, which may be a sandboxed one.
    ///
    /// - Parameter application: the application as which the program registers. A sandboxed program is the application
    ///   that its sandbox names, and no other one.
    func process(of program: String, registeringAs application: String) async throws(BusCallError) -> ProgramProcess {
        let call = MessageBus.Call.bus("GetConnectionUnixProcessID", [.string(program)])
        let response = try? await self.call(call, within: .seconds(5)) { unsafe BusSignal.number(of: $0.pointer) }
        guard let id = response.flatMap({ $0 }).flatMap({ Int32(exactly: $0) }) else {
            throw BusCallError(code: "failed", message: "The bus does not know the process of this program.")
        }
        guard let sandboxed = SandboxedProgram.application(ofProcess: id), sandboxed != application else {
            return ProgramProcess(pid: id)
        }
        throw BusCallError(
            code: "notAuthorized",
            message:
                "This program runs in the sandbox of the application '\(sandboxed)', and registers only as that one."
        )
    }
}
