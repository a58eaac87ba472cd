// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
package import Logging
internal import UserNotifications

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The sound files in the directories that the manifests of applications name.
package struct DesktopSounds: ApplicationSounds {
    private let registry: ApplicationRegistry
    private let logger: Logger

    package init(_ registry: ApplicationRegistry, logger: Logger = Logger(label: "RemoteSystems")) {
        self.registry = registry
        self.logger = logger
    }

    package func path(of name: String, _ application: String) async -> String? {
        guard let directory = self.registry.soundDirectory(of: application), Self.isFileName(name) else { return nil }
        let path = "\(directory)/\(name)"
        // It may lie on a disk that does not respond.
        switch await BlockingCalls.run({ Self.examine(path) }) {
        case .usable: return path
        // The name is that of a sound in the sound theme.
        case .missing: return nil
        case .unusable(let problem):
            self.logger.info("A sound file is not used: \(problem)", metadata: ["application": "\(application)"])
            return nil
        }
    }

    /// Whether a name is that of a file in the directory itself, and not of a hidden one.
    private static func isFileName(_ name: String) -> Bool {
        name.utf8.first != UInt8(ascii: ".") && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    /// The maximum length of a file, in bytes: that of a sound of Apple's notifications.
    private static let maxBytes: Int64 = 5_000_000

    /// Whether a file is given to the notification server, which decodes it, and why not.
    enum Finding: Hashable {
        case usable, missing
        case unusable(String)
    }

    static func examine(_ path: String) -> Finding {
        // Non-blocking: opening a named pipe must not block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return .missing }
            let reason = unsafe String(cString: strerror(errno))
            return .unusable("\(path) cannot be read: \(reason).")
        }
        defer { close(descriptor) }
        guard remote_systems_is_plain_file(descriptor) != 0 else {
            return .unusable("\(path) is not a plain file.")
        }
        guard let protection = FileProtection(descriptor: descriptor), protection.objection(to: path) == nil,
            FileProtection.objection(toDirectoriesOf: path) == nil
        else { return .unusable("Another user can change \(path) or its directory.") }
        guard (1...Self.maxBytes).contains(Int64(lseek(descriptor, 0, SEEK_END))) else {
            return .unusable("\(path) is empty, or has more than \(Self.maxBytes) bytes.")
        }
        var head = [UInt8](repeating: 0, count: 12)
        let count = unsafe pread(descriptor, &head, head.count, 0)
        guard count == head.count, Self.isSound(head) else {
            return .unusable("\(path) is neither a WAV nor an Ogg file.")
        }
        return .usable
    }

    /// The formats that notification servers play.
    private static func isSound(_ head: [UInt8]) -> Bool {
        head.starts(with: "OggS".utf8) || head.starts(with: "RIFF".utf8) && head.dropFirst(8).starts(with: "WAVE".utf8)
    }
}
