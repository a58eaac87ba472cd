// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// Owns one reference to a GObject, and releases it.
@safe struct GObjectReference: ~Copyable {
    private let object: OpaquePointer

    /// Takes over a reference of the caller.
    init(_ object: OpaquePointer) { unsafe self.object = object }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(self.object)) }

    func with<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result {
        unsafe try body(self.object)
    }
}
