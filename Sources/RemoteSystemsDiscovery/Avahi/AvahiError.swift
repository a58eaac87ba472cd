// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// A failure of an Avahi call.
struct AvahiError: Error, Sendable, Equatable, CustomStringConvertible {
    let code: Int32

    /// The name of the software that is not installed, if that is the reason.
    var missing: String?

    /// Whether the process cannot open the file descriptors that Avahi needs.
    var lacksFiles = false

    init(code: Int32) {
        self.code = code
    }

    init(missing library: String) {
        code = Int32(AVAHI_ERR_NOT_SUPPORTED)
        missing = library
    }

    var description: String {
        if let missing { return "\(missing) is not installed" }
        if lacksFiles { return "this process has reached its limit of open files" }
        guard let text = unsafe avahi_strerror(code) else { return "Avahi error \(code)" }
        return "\(unsafe String(cString: text)) (Avahi error \(code))"
    }

    /// The name is used by another client of the same daemon, or by another machine.
    var isCollision: Bool { code == Int32(AVAHI_ERR_COLLISION) }

    static let collision = AvahiError(code: Int32(AVAHI_ERR_COLLISION))
    static let tooFewFiles = {
        var error = AvahiError(code: Int32(AVAHI_ERR_OS))
        error.lacksFiles = true
        return error
    }()
    static let unknown = AvahiError(code: Int32(AVAHI_ERR_FAILURE))

    /// Throws if the result of an Avahi function is negative, which means failure.
    static func check(_ result: Int32) throws(AvahiError) {
        if result < 0 { throw AvahiError(code: result) }
    }
}
