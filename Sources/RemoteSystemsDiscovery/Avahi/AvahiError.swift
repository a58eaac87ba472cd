// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// What an Avahi call says when it fails.
struct AvahiError: Error, Sendable, Equatable, CustomStringConvertible {
    let code: Int32

    /// What is not installed, when that is the reason.
    var missing: String?

    /// Whether this process may not open the files that it takes.
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
        if lacksFiles { return "this process may open no more files" }
        guard let text = unsafe avahi_strerror(code) else { return "Avahi error \(code)" }
        return "\(unsafe String(cString: text)) (Avahi error \(code))"
    }

    /// The name is taken: by another client of the same daemon, or by another machine.
    var isCollision: Bool { code == Int32(AVAHI_ERR_COLLISION) }

    static let collision = AvahiError(code: Int32(AVAHI_ERR_COLLISION))
    static let tooFewFiles = {
        var error = AvahiError(code: Int32(AVAHI_ERR_OS))
        error.lacksFiles = true
        return error
    }()
    static let unknown = AvahiError(code: Int32(AVAHI_ERR_FAILURE))

    /// Avahi's functions return a negative code on failure.
    static func check(_ result: Int32) throws(AvahiError) {
        if result < 0 { throw AvahiError(code: result) }
    }
}
