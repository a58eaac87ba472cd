// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// Looks for advertisements by their instance names.
enum InstanceLookup {
    /// Returns whether one of the instances is seen through any of the account's sources within a time limit.
    static func sees(_ instances: Set<String>, by context: ApplicationContext, within limit: Duration) async -> Bool {
        guard !instances.isEmpty else { return false }
        return await withTaskGroup(of: Bool?.self) { group in
            for source in context.account.sources {
                group.addTask { await source.hears(anyOf: instances) ? true : nil }
            }
            group.addTask {
                try? await context.environment.time.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            for await case let isSeen? in group { return isSeen }
            return false
        }
    }
}
