// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The built-in app service over which systems exchange their descriptions.
enum Presence {
    static let service = "remote-systems.presence"
}

/// The properties of a host's advertisement (its TXT record). The instance name is random.
extension Presence {
    /// The version of the protocol.
    static let versionProperty = "v"
    static let version = "1"
    /// A tag that only systems of the account can verify.
    static let tagProperty = "t"
    /// The key of a property that is `1` if systems of other accounts may connect.
    static let anonymousProperty = "a"
    /// The tags that systems of linked accounts can verify, one for each link, in random order and mixed with random
    /// bytes of the same form. Absent without links.
    static let linkTagsProperty = "l"
    /// The maximum size of the tags: those of all links, which fit into one string of a TXT record.
    static let maxLinkTagBytes = LinkList.maxLinks * DiscoveryKey.tagByteCount

    /// The link tags of an instance. Their number is rounded up to a multiple of four with random tags, so that an
    /// announcement does not show the number of links.
    static func linkTags(of keys: [DiscoveryKey], instance: String) -> [UInt8] {
        var tags = keys.map { $0.discoveryTag(instance: instance) }
        while !tags.count.isMultiple(of: 4) {
            tags.append((0..<DiscoveryKey.tagByteCount).map { _ in UInt8.random(in: .min ... .max) })
        }
        return Array(tags.shuffled().joined())
    }
}
