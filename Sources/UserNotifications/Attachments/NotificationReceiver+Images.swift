// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystems

/// The small images of attachments.
extension NotificationReceiver {
    /// Makes a small image when the turn of the sender comes.
    ///
    /// - Returns: `nil` if the sender has used up its time.
    func makeImage(
        _ kind: ImageTurns.Kind,
        for holder: AttachmentTable.Holder,
        _ make: @escaping @Sendable () async -> ImageScaling
    ) async -> ImageScaling? {
        let turn = self.imageTurns.enter(kind, of: holder)
        for await _ in turn.start {}
        let start = self.clock.now
        var result: ImageScaling?
        switch self.imageTurns.permission(for: turn, start) {
        case .granted: result = await self.clock.task(make).value
        case .usedUp(isFirst: true):
            self.logger.notice(
                "A sender has used up its time for small images. Its notifications are shown without new ones for now",
                metadata: ["holder": "\(holder.name)"]
            )
        case .usedUp, .cancelled: break
        }
        let end = self.clock.now
        self.imageTurns.leave(turn, after: end - start, end)
        return result
    }
}
