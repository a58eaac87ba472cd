// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// Owns one reference to an object of GLib's, and gives it back.
@safe struct GObjectReference: ~Copyable {
    private let object: OpaquePointer

    /// Takes over a reference that the caller has.
    init(_ object: OpaquePointer) { unsafe self.object = object }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(self.object)) }

    func with<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result {
        unsafe try body(self.object)
    }
}
