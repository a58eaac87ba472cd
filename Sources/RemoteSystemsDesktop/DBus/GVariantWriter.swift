// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import ValueSets

/// Creates `GVariant`s from values that ``DBusForm/validate(_:)`` accepted. Each has a floating reference.
enum GVariantWriter {
    static func dictionary(_ set: ValueSet) -> OpaquePointer? {
        let entries = unsafe set.map { unsafe Self.entry(DBusForm.escape($0.key), Self.value($0.value)) }
        return unsafe Self.array(of: "{sv}", entries)
    }

    private static func tagged(_ tag: DBusForm.Tag, _ value: OpaquePointer?) -> OpaquePointer? {
        unsafe Self.array(of: "{sv}", [Self.entry(tag.key, value)])
    }

    private static func entry(_ key: String, _ value: OpaquePointer?) -> OpaquePointer? {
        unsafe g_variant_new_dict_entry(g_variant_new_string(key), g_variant_new_variant(value))
    }

    private static func value(_ value: Value) -> OpaquePointer? {
        switch value {
        case .null: unsafe Self.tagged(.null, g_variant_new_boolean(1))
        case .bool(let bool): unsafe g_variant_new_boolean(bool ? 1 : 0)
        case .integer(let number): unsafe g_variant_new_int64(gint64(number))
        case .unsigned(let number):
            if let small = Int64(exactly: number) {
                unsafe g_variant_new_int64(gint64(small))
            } else {
                unsafe g_variant_new_uint64(guint64(number))
            }
        case .double(let number): unsafe g_variant_new_double(number)
        case .string(let text): unsafe g_variant_new_string(text)
        case .data(let data): unsafe Self.bytes(data)
        case .date(let seconds): unsafe Self.tagged(.date, g_variant_new_double(seconds))
        case .uuid(let uuid): unsafe Self.tagged(.uuid, g_variant_new_string(uuid.uuidString))
        case .url(let url): unsafe Self.tagged(.url, g_variant_new_string(url.absoluteString))
        case .set(let set): unsafe Self.tagged(.set, Self.array(Array(set)))
        case .array(let array): unsafe Self.array(array)
        case .dictionary(let set): unsafe Self.dictionary(set)
        }
    }

    private static func array(_ elements: [Value]) -> OpaquePointer? {
        let signature = DBusForm.elementSignature(elements)
        let variants = unsafe elements.map { element in
            let variant = unsafe Self.value(element)
            return unsafe signature == "v" ? g_variant_new_variant(variant) : variant
        }
        return unsafe Self.array(of: signature, variants)
    }

    private static func bytes(_ data: Data) -> OpaquePointer? {
        let type = unsafe g_variant_type_new("y")
        defer { unsafe g_variant_type_free(type) }
        return unsafe data.withUnsafeBytes { bytes in
            unsafe g_variant_new_fixed_array(type, bytes.baseAddress, gsize(bytes.count), 1)
        }
    }

    private static func array(of signature: String, _ elements: [OpaquePointer?]) -> OpaquePointer? {
        let type = unsafe g_variant_type_new(signature)
        defer { unsafe g_variant_type_free(type) }
        return unsafe g_variant_new_array(type, elements, gsize(elements.count))
    }
}
