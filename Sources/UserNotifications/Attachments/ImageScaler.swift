// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Makes small copies of images, which a desktop shows beside a notification.
package protocol ImageScaler: Sendable {
    /// Decodes an image, whose sender is not trusted, with a bounded cost.
    ///
    /// - Parameters:
    ///   - path: the image.
    ///   - result: where the small image is to be.
    func scale(_ path: String, to result: String) async -> ImageScaling
}

package enum ImageScaling: Sendable {
    case scaled
    /// The image cannot be decoded.
    case damaged
    /// The image takes too much memory or time.
    case failed
    /// This system has no program that scales images.
    case unavailable
}
