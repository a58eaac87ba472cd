// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import UserNotifications

/// Sounds and videos of notifications. A desktop plays neither: it gets a poster or an icon, and a button that opens
/// the file.
extension DesktopNotification {
    /// The key of the button. No application has an action with this beginning.
    static let mediaKey = "remote-systems.open-attachment"
}

extension SessionPresenter {
    /// Opens a sound or a video with the user's application for its format. The notification stays.
    func open(_ media: PresentedNotification.Media) {
        guard let uri = try? LaunchURI(URL(filePath: media.path, directoryHint: .notDirectory).absoluteString) else {
            return
        }
        Task { [logger, stateDirectory] in
            let launcher = await DesktopURILauncher(stateDirectory: stateDirectory)
            let decision = await launcher.openMedia(uri, types: [media.mediaType])
            guard decision.status != .success else { return }
            logger.notice("An attachment was not opened", metadata: ["reason": "\(decision.reason ?? "")"])
        }
    }
}

extension PresentedNotification {
    /// A sound or a video that a desktop does not show itself.
    struct Media: Sendable {
        var kind: NotificationAttachmentType.Kind
        var mediaType: String
        var path: String

        /// Whether an application for its format is installed.
        var hasApplication: Bool {
            get async {
                await BlockingCalls.run { [mediaType] in DesktopEntries.defaultHandler(forMediaType: mediaType) != nil }
            }
        }
    }

    /// The first sound or video.
    var media: Media? {
        guard let attachment = self.content.attachments.first(where: { $0.type.kind != .image }),
            let path = attachment.url?.path(percentEncoded: false)
        else { return nil }
        return Media(kind: attachment.type.kind, mediaType: attachment.type.mediaType, path: path)
    }
}
