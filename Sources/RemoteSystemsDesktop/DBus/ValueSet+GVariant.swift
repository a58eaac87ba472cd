// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
public import ValueSets

extension ValueSet {
    /// Creates a value set from a D-Bus dictionary, a `GVariant` of type `a{sv}`.
    ///
    /// The article "Value sets on D-Bus" lists the value of each type, and what is lost or refused.
    ///
    /// - Parameters:
    ///   - variant: A pointer to the `GVariant`. It is only read; the caller keeps its reference.
    ///   - limits: The limits of the dictionary. Its size in bytes is that of the `GVariant`.
    /// - Throws: `ValueSetError` with the key path of the value that cannot be represented:
    ///   `ValueSetError.Code.unsupported` for a D-Bus type without a counterpart,
    ///   `ValueSetError.Code.duplicateKey`, `ValueSetError.Code.notRepresentable`, or
    ///   `ValueSetError.Code.limitExceeded`.
    @unsafe
    public init(gVariant variant: OpaquePointer, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        self = unsafe try GVariantReader.dictionary(variant, limits: limits)
    }

    /// Creates the D-Bus dictionary for this value set, a `GVariant` of type `a{sv}`.
    ///
    /// `init(gVariant:limits:)` reads it back without loss.
    ///
    /// - Returns: A pointer to a new `GVariant` with a floating reference, like those of GLib's constructors. The first
    ///   function that sinks the reference, such as `g_dbus_connection_call`, owns it. Otherwise sink and release it.
    /// - Throws: `ValueSetError` with the key path of the value that D-Bus cannot represent:
    ///   `ValueSetError.Code.notRepresentable` for text with a NUL character, `ValueSetError.Code.limitExceeded`
    ///   for collections that are nested too deeply.
    @unsafe
    public func makeGVariant() throws(ValueSetError) -> OpaquePointer {
        try DBusForm.validate(self)
        guard let variant = unsafe GVariantWriter.dictionary(self) else {
            throw ValueSetError(.notRepresentable, "GLib did not create a GVariant.")
        }
        return unsafe variant
    }
}
