// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import UserNotifications

/// Scales images with the thumbnailer of gdk-pixbuf, and makes the posters of sounds and videos with the thumbnailers
/// of this system, each in a process of its own that may use little memory and time.
package struct DesktopImageScaler: ImageScaler {
    /// The width or height of a small image, whichever is larger. Servers show images of about 100 pixels, or twice as
    /// many on dense screens.
    private static let usualPixels = 256
    /// The address space of the process: an image of 50 million pixels, twice.
    private static let maxMemory = 1 << 30
    private static let maxProcessorSeconds = 5

    private let program: String
    private let thumbnailers: Thumbnailers
    private let pixels: Int
    /// Noise can hardly be compressed: four bytes a pixel, and the parts of a PNG around them. What other thumbnailers
    /// make, which may be larger, has 4 MiB.
    private var maxResultBytes: Int { max(4 << 20, self.pixels * self.pixels * 4 + (64 << 10)) }
    private let maxTime: Duration
    private let maxPosterTime: Duration
    private let environment: [String: String]

    /// - Parameters:
    ///   - environment: the environment of this process.
    ///   - program: the thumbnailer. Defaults to that of gdk-pixbuf.
    ///   - pixels: the width or height of the result, whichever is larger. Defaults to 256.
    ///   - maxTime: the time after which a program is ended that waits. Longer than its processor time, for a busy
    ///     machine. Defaults to 30 s.
    ///   - maxPosterTime: the same for a program that makes a poster, for which its notification waits: any program of
    ///     the user, of a video of any length. Defaults to 5 s.
    package init(
        environment: [String: String],
        program: String = "gdk-pixbuf-thumbnailer",
        pixels: Int? = nil,
        maxTime: Duration = .seconds(30),
        maxPosterTime: Duration = .seconds(5)
    ) {
        // No key, address or token of this process concerns a decoder.
        self.environment = environment.filter { ["PATH", "HOME", "LANG"].contains($0.key) }
        self.program = program
        self.thumbnailers = Thumbnailers(environment: environment)
        self.pixels = pixels ?? Self.usualPixels
        self.maxTime = maxTime
        self.maxPosterTime = maxPosterTime
    }

    package func scale(_ path: String, to result: String) async -> ImageScaling {
        await self.run([self.program, "-s", "\(self.pixels)", path, result], within: self.maxTime)
    }

    package func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling {
        let unchecked = "\(result).poster"
        let command = await BlockingCalls.run { [thumbnailers, pixels] in
            thumbnailers.command(path, mediaType, to: unchecked, pixels: pixels)
        }
        guard let command else { return .unavailable }
        var scaling = await self.run(command, within: self.maxPosterTime)
        // A decoder that a bad file has misled may write anything.
        if scaling == .scaled { scaling = await self.scale(unchecked, to: result) }
        await BlockingCalls.run { _ = unsafe unlink(unchecked) }
        return scaling
    }

    /// Runs a program within the limits.
    private func run(_ command: [String], within maxTime: Duration) async -> ImageScaling {
        let limits = [
            "--as=\(Self.maxMemory)", "--cpu=\(Self.maxProcessorSeconds)", "--fsize=\(self.maxResultBytes)",
            "--core=0",
        ]
        // Ends it if this process does not live to do that.
        let timeout = ["timeout", "--signal=KILL", "\(maxTime.components.seconds + 1)"]
        var program = DetachedProgram(
            timeout + ["prlimit"] + limits + ["--"] + command,
            environment: self.environment
        )
        // A thumbnailer may be a script.
        program.endsItsChildren = true
        guard let process = try? program.start() else { return .unavailable }
        let killing = Task {
            // Its cancellation means that the program has ended in time.
            guard (try? await Task.sleep(for: maxTime)) != nil else { return }
            // With its children.
            _ = await process.terminate(grace: .milliseconds(100))
        }
        defer { killing.cancel() }
        switch await process.end() {
        case .exited(status: 0): return .scaled
        // As of a shell: the program was not found, or cannot be executed.
        case .exited(status: 126), .exited(status: 127): return .unavailable
        // The thumbnailer cannot read it.
        case .exited(status: 1): return .damaged
        default: return .failed
        }
    }
}
