// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization

/// Follows what programs ask the desktop's notification server to show, and what it responds (D-Bus Specification,
/// `org.freedesktop.DBus.Monitoring.BecomeMonitor`).
///
/// A monitor only reads: the bus ends the connection of one that sends.
final class DesktopMonitor: Sendable {
    /// What was seen. For one reader.
    let messages: AsyncStream<MirrorTable.Message>
    private let feed: AsyncStream<MirrorTable.Message>.Continuation
    private let loop = BusLoop()
    /// Whether something was not read, for example that a notification has ended.
    private let hasLost = Mutex(false)

    private static let server = "org.freedesktop.Notifications"
    private static let bus = "org.freedesktop.DBus"
    /// Nothing is read beyond this size of a text.
    private static let maxTextBytes = 64 << 10

    private static let rules = [
        "type='method_call',interface='\(server)',member='Notify'",
        "type='method_call',interface='\(server)',member='CloseNotification'",
        "type='method_return',sender='\(server)'",
        "type='error',sender='\(server)'",
        "type='signal',sender='\(server)',interface='\(server)',member='NotificationClosed'",
        "type='signal',sender='\(bus)',member='NameOwnerChanged',arg0='\(server)'",
    ]

    init() {
        (self.messages, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(256))
    }

    func stop() { self.loop.stop() }

    /// Whether messages were lost since the last call, because more came than were read.
    func takeLoss() -> Bool {
        self.hasLost.withLock { hasLost in
            defer { hasLost = false }
            return hasLost
        }
    }

    /// Runs until the bus ends, or ``stop()``. Blocks.
    func run() throws(MessageBus.Failure) {
        defer { self.feed.finish() }
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe g_dbus_connection_add_filter(
                connection,
                { _, message, isIncoming, data in unsafe DesktopMonitor.filter(message, isIncoming != 0, data) },
                Unmanaged.passRetained(self).toOpaque(),
                { data in if let data = unsafe data { unsafe Unmanaged<DesktopMonitor>.fromOpaque(data).release() } }
            )
            let call = MessageBus.Call(
                destination: Self.bus,
                path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus.Monitoring",
                method: "BecomeMonitor",
                arguments: [.strings(Self.rules), .uint32(0)]
            )
            unsafe try MessageBus.send(call, over: connection, self.loop.cancellable)
        }
    }

    /// Reads a message on GLib's thread, and keeps it from GLib, which would respond to the calls of others.
    private static func filter(
        _ message: OpaquePointer?,
        _ isIncoming: Bool,
        _ data: UnsafeMutableRawPointer?
    ) -> OpaquePointer? {
        guard isIncoming, let message = unsafe message, let data = unsafe data else { return unsafe message }
        let sender = unsafe Self.text(g_dbus_message_get_sender(message)) ?? ""
        let type = unsafe g_dbus_message_get_message_type(message)
        // The responses to this connection's own calls.
        guard type == G_DBUS_MESSAGE_TYPE_METHOD_CALL || type == G_DBUS_MESSAGE_TYPE_SIGNAL || sender != Self.bus else {
            return unsafe message
        }
        let monitor = unsafe Unmanaged<DesktopMonitor>.fromOpaque(data).takeUnretainedValue()
        if let seen = unsafe Self.read(message, type, sender), case .dropped = monitor.feed.yield(seen) {
            monitor.hasLost.withLock { $0 = true }
        }
        unsafe g_object_unref(UnsafeMutableRawPointer(message))
        return nil
    }

    private static func read(
        _ message: OpaquePointer,
        _ type: GDBusMessageType,
        _ sender: String
    ) -> MirrorTable.Message? {
        let body = unsafe g_dbus_message_get_body(message)
        let member = unsafe Self.text(g_dbus_message_get_member(message))
        switch (type, member) {
        case (G_DBUS_MESSAGE_TYPE_METHOD_CALL, "Notify"):
            guard let body = unsafe body, let call = unsafe Self.call(body) else { return nil }
            return unsafe .called(call, by: sender, serial: g_dbus_message_get_serial(message))
        case (G_DBUS_MESSAGE_TYPE_METHOD_CALL, "CloseNotification"):
            return unsafe body.flatMap { unsafe BusSignal.number(of: $0) }.map { .withdrawn($0) }
        case (G_DBUS_MESSAGE_TYPE_METHOD_RETURN, _), (G_DBUS_MESSAGE_TYPE_ERROR, _):
            return .returned(
                type == G_DBUS_MESSAGE_TYPE_ERROR
                    ? nil : unsafe body.flatMap { unsafe BusSignal.number(of: $0) },
                by: sender,
                to: unsafe Self.text(g_dbus_message_get_destination(message)) ?? "",
                serial: unsafe g_dbus_message_get_reply_serial(message)
            )
        case (G_DBUS_MESSAGE_TYPE_SIGNAL, "NotificationClosed"):
            guard let body = unsafe body, let id = unsafe BusSignal.number(of: body) else { return nil }
            return .closed(id, unsafe BusSignal.secondNumber(of: body).flatMap(MirrorTable.Reason.init) ?? .undefined)
        case (G_DBUS_MESSAGE_TYPE_SIGNAL, "NameOwnerChanged"):
            // A bus may report the start of a server between a call and its response.
            let names = unsafe body.map { unsafe BusSignal.texts(of: $0) } ?? []
            return names.count == 3 && names[1].isEmpty ? nil : .serverEnded
        default: return nil
        }
    }

    /// Reads the arguments of `Notify`; `nil` if they have another type.
    private static func call(_ body: OpaquePointer) -> DesktopCall? {
        guard unsafe BusSignal.has(body, "(susssasa{sv}i)"),
            let program = unsafe Self.text(body, 0), let summary = unsafe Self.text(body, 3),
            let text = unsafe Self.text(body, 4), let hints = unsafe g_variant_get_child_value(body, 6)
        else { return nil }
        defer { unsafe g_variant_unref(hints) }
        var call = DesktopCall(program: program, summary: summary, body: text)
        unsafe Self.hint(hints, "desktop-entry") { value in
            guard unsafe BusSignal.has(value, "s") else { return }
            let entry = unsafe Self.text(g_variant_get_string(value, nil)) ?? ""
            call.desktopEntry = entry.hasSuffix(".desktop") ? String(entry.dropLast(".desktop".count)) : entry
        }
        unsafe Self.hint(hints, "urgency") { value in
            let urgency = unsafe Self.number(value).flatMap { UInt8(exactly: $0) }
            call.urgency = urgency.flatMap { DesktopNotification.Urgency(rawValue: $0) } ?? .normal
        }
        func isOn(_ name: String) -> Bool {
            var isOn = false
            unsafe Self.hint(hints, name) { value in
                unsafe isOn = (Self.number(value) ?? 0) != 0
            }
            return isOn
        }
        call.isSilent = isOn("suppress-sound")
        call.isOwn = isOn(DesktopCall.ownHint)
        call.isPassing = isOn("transient")
        for name in DesktopCall.stateHints { unsafe Self.hint(hints, name) { _ in call.isPassing = true } }
        return call
    }

    /// A number or a truth value. Programs send hints with other types than the specification's, which servers accept.
    private static func number(_ value: OpaquePointer) -> Int64? {
        switch unsafe String(cString: g_variant_get_type_string(value)) {
        case "b": unsafe g_variant_get_boolean(value) == 0 ? 0 : 1
        case "y": unsafe Int64(g_variant_get_byte(value))
        case "i": unsafe Int64(g_variant_get_int32(value))
        case "u": unsafe Int64(g_variant_get_uint32(value))
        default: nil
        }
    }

    private static func hint(_ hints: OpaquePointer, _ name: String, _ read: (OpaquePointer) -> Void) {
        guard let value = unsafe g_variant_lookup_value(hints, name, nil) else { return }
        defer { unsafe g_variant_unref(value) }
        unsafe read(value)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }

    private static func text(_ tuple: OpaquePointer, _ index: Int) -> String? {
        guard let value = unsafe g_variant_get_child_value(tuple, gsize(index)) else { return nil }
        defer { unsafe g_variant_unref(value) }
        var length: gsize = 0
        guard let text = unsafe g_variant_get_string(value, &length) else { return nil }
        guard length > Self.maxTextBytes else { return unsafe String(cString: text) }
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Self.maxTextBytes)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}
