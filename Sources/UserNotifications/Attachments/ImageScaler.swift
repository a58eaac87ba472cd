// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Makes small images of attachments, which a desktop shows beside a notification.
package protocol ImageScaler: Sendable {
    /// Decodes an image, whose sender is not trusted, with a bounded cost.
    ///
    /// - Parameters:
    ///   - path: the image.
    ///   - result: where the small image is to be.
    func scale(_ path: String, to result: String) async -> ImageScaling

    /// Makes an image of a sound or a video, whose sender is not trusted, with a bounded cost.
    ///
    /// - Parameters:
    ///   - path: the sound or video.
    ///   - mediaType: its format, such as `video/mp4`.
    ///   - result: where the small image is to be.
    func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling
}

package enum ImageScaling: Sendable {
    case scaled
    /// The file cannot be decoded.
    case damaged
    /// The file takes too much memory or time.
    case failed
    /// This system has no program for it.
    case unavailable
}
