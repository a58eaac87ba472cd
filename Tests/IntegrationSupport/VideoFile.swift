// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Writes a video of one second, of 320 by 240 magenta pixels (MPEG-4).
package func writeVideo(to path: String) async throws {
    try await run([
        "/usr/bin/mpv", "--no-config", "--really-quiet", "av://lavfi:color=c=magenta:s=320x240:d=1:r=25",
        "--o=\(path)", "--of=mp4", "--ovc=mpeg4",
    ])
}
