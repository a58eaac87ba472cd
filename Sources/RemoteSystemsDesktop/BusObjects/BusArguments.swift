// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import ValueSets

/// The arguments of a call, whose types GLib has compared with the interface.
///
/// The `Sendable` conformance is unchecked because of the pointer. A `GVariant` does not change, and may be read on any
/// thread.
@safe final class BusArguments: @unchecked Sendable {
    private let tuple: OpaquePointer

    init(_ tuple: OpaquePointer) { unsafe self.tuple = g_variant_ref(tuple) }

    deinit { unsafe g_variant_unref(self.tuple) }

    /// The arguments that are strings.
    var texts: [String] { unsafe BusSignal.texts(of: self.tuple) }

    /// An argument of the type `as`.
    func texts(at index: Int) -> [String] {
        unsafe self.withArgument(index) { unsafe BusSignal.texts(of: $0) } ?? []
    }

    /// An argument of the type `a(ss)`.
    func pairs(at index: Int) -> [(String, String)] {
        let pairs = unsafe self.withArgument(index) { array in
            unsafe (0..<g_variant_n_children(array)).map { index -> [String] in
                guard let pair = unsafe g_variant_get_child_value(array, index) else { return [] }
                defer { unsafe g_variant_unref(pair) }
                return unsafe BusSignal.texts(of: pair)
            }
        }
        return (pairs ?? []).compactMap { $0.count == 2 ? ($0[0], $0[1]) : nil }
    }

    /// An argument of the type `a{sv}`.
    func dictionary(at index: Int) throws(BusCallError) -> ValueSet {
        let result = unsafe self.withArgument(index) { value in
            Result { () throws(ValueSetError) in unsafe try ValueSet(gVariant: value) }
        }
        switch result {
        case .success(let set): return set
        case .failure(let error): throw .invalid(error.description)
        case nil: return [:]
        }
    }

    private func withArgument<Result>(_ index: Int, _ read: (OpaquePointer) -> Result) -> Result? {
        guard let value = unsafe g_variant_get_child_value(self.tuple, gsize(index)) else { return nil }
        defer { unsafe g_variant_unref(value) }
        return unsafe read(value)
    }
}
