// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// A signal from the bus, with the few kinds of arguments that are read.
struct BusSignal {
    var sender: String
    var interface: String
    var member: String
    /// The first argument, if it is a `u`.
    var number: UInt32?
    /// The first argument, if it is a `b`.
    var bool: Bool?
    /// The arguments that are strings.
    var texts: [String]
    /// The arguments that are of the type `u`.
    var numbers: [UInt32]
    /// The arguments that are object paths.
    var paths: [String]
    /// The strings in an argument that is an array of values of any type.
    var variantTexts: [String]

    /// The first string.
    var text: String { self.texts.first ?? "" }

    init?(
        _ sender: UnsafePointer<CChar>?,
        _ interface: UnsafePointer<CChar>?,
        _ member: UnsafePointer<CChar>?,
        _ parameters: OpaquePointer
    ) {
        guard let sender = unsafe sender, let interface = unsafe interface, let member = unsafe member else {
            return nil
        }
        self.sender = unsafe String(cString: sender)
        self.interface = unsafe String(cString: interface)
        self.member = unsafe String(cString: member)
        self.texts = unsafe Self.texts(of: parameters)
        self.bool = unsafe Self.bool(of: parameters)
        self.number = unsafe Self.number(of: parameters)
        self.paths = unsafe Self.paths(of: parameters)
        self.numbers = unsafe Self.values(of: parameters, "u") { unsafe g_variant_get_uint32($0) }
        let arrays = unsafe Self.values(of: parameters, "av") { unsafe Self.texts(inVariantsOf: $0) }
        self.variantTexts = arrays.flatMap(\.self)
    }

    static func bool(of tuple: OpaquePointer) -> Bool? {
        unsafe Self.first(of: tuple, "b") { unsafe g_variant_get_boolean($0) != 0 }
    }

    static func number(of tuple: OpaquePointer) -> UInt32? {
        unsafe Self.first(of: tuple, "u") { unsafe g_variant_get_uint32($0) }
    }

    /// The second of the values of the type `u`, for a tuple of two of them.
    static func secondNumber(of tuple: OpaquePointer) -> UInt32? {
        let numbers = unsafe Self.values(of: tuple, "u") { unsafe g_variant_get_uint32($0) }
        return numbers.count == 2 ? numbers[1] : nil
    }

    /// The first value, if it is a `t`.
    static func longNumber(of tuple: OpaquePointer) -> UInt64? {
        unsafe Self.first(of: tuple, "t") { unsafe UInt64(g_variant_get_uint64($0)) }
    }

    /// The first value, if it is a variant with a `b`, as in the response to `org.freedesktop.DBus.Properties.Get`.
    static func variantBool(of tuple: OpaquePointer) -> Bool? {
        let bool = unsafe Self.first(of: tuple, "v") { variant -> Bool? in
            guard let value = unsafe g_variant_get_variant(variant) else { return nil }
            defer { unsafe g_variant_unref(value) }
            return unsafe Self.has(value, "b") ? g_variant_get_boolean(value) != 0 : nil
        }
        return bool ?? nil
    }

    /// - Parameter max: the maximum number of values that are looked at.
    static func texts(of tuple: OpaquePointer, max: Int = .max) -> [String] {
        unsafe Self.values(of: tuple, "s", max: max) { value in
            guard let text = unsafe g_variant_get_string(value, nil) else { return nil }
            return unsafe String(cString: text)
        }
    }

    /// The first strings of the first value, if it is an `as`. GLib ends the process that asks another type for its
    /// children.
    static func list(of tuple: OpaquePointer, max: Int) -> [String]? {
        unsafe Self.first(of: tuple, "as") { unsafe Self.texts(of: $0, max: max) }
    }

    private static func texts(inVariantsOf array: OpaquePointer) -> [String] {
        unsafe Self.values(of: array, "v") { variant -> String? in
            guard let value = unsafe g_variant_get_variant(variant) else { return nil }
            defer { unsafe g_variant_unref(value) }
            guard unsafe Self.has(value, "s"), let text = unsafe g_variant_get_string(value, nil) else { return nil }
            return unsafe String(cString: text)
        }
    }

    static func paths(of tuple: OpaquePointer) -> [String] {
        unsafe Self.values(of: tuple, "o") { value in
            guard let path = unsafe g_variant_get_string(value, nil) else { return nil }
            return unsafe String(cString: path)
        }
    }

    /// The values of a type in a tuple or an array.
    private static func values<Result>(
        of tuple: OpaquePointer,
        _ type: String,
        max: Int = .max,
        _ read: (OpaquePointer) -> Result?
    ) -> [Result] {
        var values: [Result] = []
        let count = unsafe min(g_variant_n_children(tuple), gsize(max))
        for index in 0..<count {
            guard let value = unsafe g_variant_get_child_value(tuple, index) else { continue }
            defer { unsafe g_variant_unref(value) }
            if unsafe Self.has(value, type), let result = unsafe read(value) { values.append(result) }
        }
        return values
    }

    private static func first<Result>(
        of tuple: OpaquePointer,
        _ type: String,
        _ read: (OpaquePointer) -> Result
    ) -> Result? {
        guard unsafe g_variant_n_children(tuple) > 0, let value = unsafe g_variant_get_child_value(tuple, 0) else {
            return nil
        }
        defer { unsafe g_variant_unref(value) }
        return unsafe Self.has(value, type) ? read(value) : nil
    }

    static func has(_ value: OpaquePointer, _ type: String) -> Bool {
        unsafe String(cString: g_variant_get_type_string(value)) == type
    }
}
