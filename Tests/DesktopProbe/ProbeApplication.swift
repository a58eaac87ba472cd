// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGIO
import Glibc

/// An application that a bus starts. Takes `org.freedesktop.Application.Open` and records the URIs.
enum ProbeApplication {
    private static let interface = """
        <node><interface name="org.freedesktop.Application"><method name="Open">
        <arg type="as" direction="in"/><arg type="a{sv}" direction="in"/></method></interface></node>
        """

    /// Read by the C callback below, which can capture nothing. Set once, before the callback can run.
    nonisolated(unsafe) private static var file = ""
    // Same as `file`: read by the C callback, set once.
    nonisolated(unsafe) private static var behaviour = ""

    static func run(busName: String, file: String, behaviour: String) {
        unsafe Self.file = file
        unsafe Self.behaviour = behaviour
        let path = "/" + busName.map { $0 == "." ? "/" : $0 == "-" ? "_" : String($0) }.joined()
        guard let bus = unsafe g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil),
            let node = unsafe g_dbus_node_info_new_for_xml(Self.interface, nil)
        else { exit(1) }
        var table = GDBusInterfaceVTable()
        unsafe table.method_call = { _, _, _, _, _, parameters, invocation, _ in
            unsafe ProbeApplication.response(parameters, invocation)
        }
        unsafe g_dbus_connection_register_object(bus, path, node.pointee.interfaces[0], &table, nil, nil, nil)
        unsafe g_bus_own_name_on_connection(bus, busName, G_BUS_NAME_OWNER_FLAGS_NONE, nil, nil, nil, nil)
        unsafe g_main_loop_run(g_main_loop_new(nil, 0))
    }

    private static func response(_ parameters: OpaquePointer?, _ invocation: OpaquePointer?) {
        switch unsafe Self.behaviour {
        case "vanish": exit(0)
        case "refuse":
            unsafe g_dbus_method_invocation_return_dbus_error(invocation, "org.example.Refused", "Not today.")
        default:
            let uris = unsafe g_variant_get_child_value(parameters, 0)
            let texts = unsafe (0..<g_variant_n_children(uris)).map { index in
                unsafe String(cString: g_variant_get_string(g_variant_get_child_value(uris, index), nil))
            }
            unsafe Record.write(texts, to: Self.file)
            unsafe g_dbus_method_invocation_return_value(invocation, nil)
        }
    }
}
