// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import ValueSets

/// The numbers at the icons of applications, for docks and task bars that show them (Unity's launcher API, which KDE
/// Plasma and Dash to Dock also read). A dock forgets them when the connection ends.
extension NotificationSession {
    static let launcherInterface = "com.canonical.Unity.LauncherEntry"

    func present(badges: [String: Int]) {
        self.loop.post { connection in
            for (desktopEntry, count) in badges.sorted(by: { $0.key < $1.key }) {
                let uri = "application://\(desktopEntry).desktop"
                unsafe g_dbus_connection_emit_signal(
                    connection.pointer,
                    nil,
                    Self.path(of: uri),
                    Self.launcherInterface,
                    "Update",
                    MessageBus.tuple([
                        .string(uri),
                        .dictionary(["count": .integer(Int64(count)), "count-visible": .bool(count > 0)]),
                    ]),
                    nil
                )
            }
        }
    }

    /// The path of the object of an application, which is different for each.
    private static func path(of uri: String) -> String {
        // As libunity computes it (djb2).
        let hash = uri.utf8.reduce(UInt32(5381)) { $0 &* 33 &+ UInt32($1) }
        return "/com/canonical/unity/launcherentry/\(hash)"
    }
}
