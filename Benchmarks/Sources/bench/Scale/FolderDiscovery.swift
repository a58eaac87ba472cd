// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization

/// A discovery source that exchanges advertisements through files in a directory, so that nothing is sent by multicast.
///
/// A browse reports the files that are present when it starts, and no later changes.
final class FolderDiscovery: DiscoverySource {
    private struct Advertised: Codable {
        var port: Int
        var properties: [String: [UInt8]]
    }

    private let folder: URL
    private let advertisements = Mutex(0)

    /// Whether an advertisement is in effect.
    var isAdvertising: Bool { advertisements.withLock { $0 > 0 } }

    init(folder: String) throws {
        self.folder = URL(filePath: folder, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    var name: String { "folder" }

    func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        for hint in hints() { feed.yield(.appeared(hint)) }
        feed.yield(.settled)
        return events
    }

    /// The advertisements that are present, in no particular order.
    func hints() -> [DiscoveryHint] {
        names().compactMap { name in
            guard let bytes = try? Data(contentsOf: folder.appending(path: name)),
                let advertised = try? JSONDecoder().decode(Advertised.self, from: bytes)
            else { return nil }
            return DiscoveryHint(
                id: name,
                instance: name,
                endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: advertised.port)],
                properties: advertised.properties
            )
        }
    }

    /// The names of the advertisements that are present. Incomplete files begin with a dot.
    func names() -> Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return Set(names.filter { !$0.hasPrefix(".") })
    }

    func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        try advertisement.validate()
        let advertised = Advertised(port: advertisement.port, properties: advertisement.properties)
        let file = folder.appending(path: advertisement.instance)
        // Not `.atomic`, which waits for the disk: up to ten seconds beside other programs that write.
        let incomplete = folder.appending(path: ".\(advertisement.instance)")
        try JSONEncoder().encode(advertised).write(to: incomplete)
        try FileManager.default.moveItem(at: incomplete, to: file)
        advertisements.withLock { $0 += 1 }
        report(true)
        // Ends with the task.
        try? await Task.sleep(for: .seconds(24 * 3600))
        advertisements.withLock { $0 -= 1 }
        try? FileManager.default.removeItem(at: file)
    }

    func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try await advertise(advertisement) { _ in }
    }
}
