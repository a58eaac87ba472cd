// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The rights that this account grants to the systems of a linked account. Anything that is not listed here is not
/// permitted.
package struct Grants: Hashable, Sendable {
    /// The names of the app services that they may call.
    package var services: Set<String>
    /// The schemes of the URIs that they may open here, in lower case.
    package var uriSchemes: Set<String>
    /// The topics of published state that they may subscribe to.
    package var topics: Set<String>
    /// The time from which nothing is granted, by this machine's clock; `nil` if the grants do not end.
    package var end: Date?

    package init(
        services: Set<String> = [],
        uriSchemes: Set<String> = [],
        topics: Set<String> = [],
        end: Date? = nil
    ) {
        self.services = services
        self.uriSchemes = uriSchemes
        self.topics = topics
        self.end = end
    }
}
