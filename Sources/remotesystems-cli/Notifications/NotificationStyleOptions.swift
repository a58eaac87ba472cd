// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import UserNotifications

/// How a notification of a command attracts attention.
struct NotificationStyleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How much it may interrupt: passive, active, time-sensitive or critical. Defaults to active.",
            valueName: "level"
        )
    )
    var level: String?

    @Option(
        help: ArgumentHelp(
            "The sound: 'default', the name of a sound of the sound theme, or of a sound file of the application.",
            valueName: "name"
        )
    )
    var sound: String?

    func validate() throws {
        if let level, NotificationInterruptionLevel(rawValue: level) == nil {
            throw ValidationError("--level takes passive, active, time-sensitive or critical, not '\(level)'.")
        }
    }

    func apply(to content: inout NotificationContent) {
        if let sound { content.sound = NotificationSound(name: sound) }
        if let level = self.level.flatMap(NotificationInterruptionLevel.init) { content.interruptionLevel = level }
    }
}
