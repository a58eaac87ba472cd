// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why an application may not show the pages of a site.
package struct AssociationFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: String, Sendable, Codable {
        /// The host is unknown, or nothing there accepts a connection.
        case unreachable
        /// The host has only addresses of private networks.
        case privateAddress
        /// The server's certificate is not trusted, or names another host.
        case notTrusted
        case timedOut
        /// The server redirects to another host, to HTTP, or too often.
        case redirected
        /// There is no file, or the server refuses it.
        case noFile
        case contentType
        case tooLarge
        /// The file is not of the specified form.
        case malformed
        /// The signature is wrong, or its signer is not trusted or does not speak for the host.
        case badSignature
        /// The file does not list the application.
        case notListed
    }

    package let code: Code
    /// A sentence for people.
    package let message: String
    /// Whether the server responded with an HTTP status that says nothing about the file. Not saved.
    private var isOtherStatus = false

    private enum CodingKeys: String, CodingKey { case code, message }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The server responded with an HTTP status that says nothing about the file.
    static func otherStatus(_ message: String) -> Self {
        var failure = Self(.noFile, message)
        failure.isOtherStatus = true
        return failure
    }

    /// Whether this says nothing about the file, so that what the site said before stays valid until it expires.
    var isInconclusive: Bool { self.isOtherStatus || self.code == .unreachable || self.code == .timedOut }

    package var description: String { self.message }
}
