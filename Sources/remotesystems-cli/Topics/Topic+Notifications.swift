// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserNotifications

extension Topic {
    static let notificationsText = """
        A host daemon receives notifications, shows them on the desktop, and keeps
        them in a list ('remotesystems notifications list') and a history.

        Systems of the account may send. A system of a linked account may if the
        service org.remotesystems.notifications is granted to it ('remotesystems
        account grant'). 'remotesystems notifications permit' denies, silences or
        limits a system or an application. The id of a system is proved, the id of an
        application is claimed. 'notify --sender-id ID' gives a script an own id.

        The limits of one notification:

          title, subtitle     \(NotificationLimits.titleBytes) bytes each
          text                \(NotificationLimits.bodyBytes) bytes
          identifier          \(NotificationLimits.identifierBytes) bytes
          buttons             \(NotificationLimits.actions)
          attachments         \(NotificationLimits.attachments): images of 10 MB, sounds of 5 MB, videos of 50 MB
          a --payload         \(NotificationLimits.remotePayloadBytes) bytes
          a text as answer    \(NotificationLimits.userTextBytes) bytes

        The limits of one sending system (a linked account counts as one system):

          at once             30, then one every two seconds
          waiting for the user
                              64; all systems together 512, of which one that sends
                              gets at most half of what is free
          attachments         128 MB

        The limits of one application of this system:

          scheduled           \(NotificationLimits.pendingRequests)
          in the outbox       32 for each system ('notify --later'), for 30 days

        A sender that is over a limit gets the error rateLimited or limitExceeded,
        which says whether and when to try again.
        """
}
