// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Requests files of sites over HTTPS.
package protocol AssociationClient: Sendable {
    /// Requests a file. Follows no redirect.
    ///
    /// - Parameters:
    ///   - path: the path, with a query if it has one.
    ///   - host: the host, which the server's certificate must name.
    func get(_ path: String, from host: String) async throws(AssociationFailure) -> AssociationResponse
}

/// A server's response.
package struct AssociationResponse: Sendable, Hashable {
    package var status: Int
    /// The header fields that count, in lower case; the last one of several.
    package var fields: [String: String]
    /// The body of a response with status 200; otherwise empty.
    package var body: [UInt8]

    package init(status: Int, fields: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
