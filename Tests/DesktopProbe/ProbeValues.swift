// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGIO
import Foundation
import Glibc
import RemoteSystems
import RemoteSystemsDesktop

/// A program on a bus that converts dictionaries to value sets and back for its callers.
enum ProbeValues {
    private static let interface = """
        <node><interface name="org.example.Values">
        <method name="Echo"><arg type="a{sv}" direction="in"/><arg type="a{sv}" direction="out"/></method>
        <method name="ToJSON"><arg type="a{sv}" direction="in"/><arg type="s" direction="out"/></method>
        <method name="FromJSON"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/></method>
        <method name="Nest"><arg type="u" direction="in"/><arg type="a{sv}" direction="out"/></method>
        </interface></node>
        """

    static func run(busName: String) {
        guard let bus = unsafe g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil),
            let node = unsafe g_dbus_node_info_new_for_xml(Self.interface, nil)
        else { exit(1) }
        var table = GDBusInterfaceVTable()
        unsafe table.method_call = { _, _, _, _, method, parameters, invocation, _ in
            guard let method = unsafe method.map({ unsafe String(cString: $0) }), let parameters = unsafe parameters
            else {
                return
            }
            do {
                let result = unsafe try ProbeValues.call(method, g_variant_get_child_value(parameters, 0))
                unsafe g_dbus_method_invocation_return_value(invocation, ProbeValues.tuple(result))
            } catch {
                unsafe g_dbus_method_invocation_return_dbus_error(invocation, "org.example.Refused", "\(error)")
            }
        }
        unsafe g_dbus_connection_register_object(bus, "/values", node.pointee.interfaces[0], &table, nil, nil, nil)
        unsafe g_bus_own_name_on_connection(
            bus,
            busName,
            G_BUS_NAME_OWNER_FLAGS_NONE,
            { _, _, _ in Record.say("ready") },
            nil,
            nil,
            nil
        )
        unsafe g_main_loop_run(g_main_loop_new(nil, 0))
    }

    private static func call(_ method: String, _ argument: OpaquePointer?) throws -> OpaquePointer? {
        guard let argument = unsafe argument else { return nil }
        switch method {
        case "Echo":
            return unsafe try ValueSet(gVariant: argument).makeGVariant()
        case "ToJSON":
            return unsafe g_variant_new_string(try ValueSet(gVariant: argument).json())
        case "FromJSON":
            let text = unsafe String(cString: g_variant_get_string(argument, nil))
            return unsafe try ValueSet(json: Data(text.utf8)).makeGVariant()
        default:
            // Nested dictionaries, as deep as requested.
            var set: ValueSet = ["end": true]
            for _ in unsafe 1..<max(g_variant_get_uint32(argument), 2) { set = ["in": .dictionary(set)] }
            return unsafe try set.makeGVariant()
        }
    }

    private static func tuple(_ value: OpaquePointer?) -> OpaquePointer? {
        unsafe g_variant_new_tuple([value], 1)
    }
}
