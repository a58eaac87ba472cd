// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import UserNotifications

/// The command `remotesystems notifications schedule`.
struct NotificationsScheduleCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Show a notification on this system at a later time, or at a place.",
        usage: "remotesystems notifications schedule [<options>] --title <text>",
        discussion: """
            Give the time with --in or --at, or the place with --near. The host daemon keeps the notification while \
            this command, the daemon or the system does not run. A date that passes meanwhile is made up for once.

              remotesystems notifications schedule --in 10m --sound default --title 'Tea is ready'
              remotesystems notifications schedule --at 09:30 --repeat --title 'Stand-up'
              remotesystems notifications schedule --at 2027-02-01T08:00 --title 'Pay taxes'
              remotesystems notifications schedule --near 52.52,13.405 --title 'Return it'

            'notifications pending' lists scheduled notifications, 'notifications cancel' removes them.
            """
    )

    @Option(
        name: .customLong("in"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time from now, \(EnteredTime.form). Range: 0.001 to 315360000 (10 years); at least 60 with --repeat.",
            valueName: "time"
        )
    )
    var interval: EnteredTime?

    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "The date in this system's time zone: hh:mm for every day's time, or yyyy-mm-ddThh:mm, at most "
                + "10 years away.",
            valueName: "date"
        )
    )
    var date: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The centre of a region, in degrees: shown when the system enters it. Needs GeoClue.",
            valueName: "latitude,longitude"
        )
    )
    var near: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The radius of the region, in metres. Range: 10 to 100000. Defaults to 100.",
            valueName: "metres"
        )
    )
    var radius: Double?

    @Flag(name: .customLong("on-exit"), help: "Show it when the system leaves the region.")
    var onExit = false

    @Flag(
        name: .customLong("repeat"),
        help: "Show it again after each further interval, every day at the time, or each time at the place."
    )
    var repeats = false

    @Option(help: ArgumentHelp("The first line.", valueName: "text"))
    var title: String

    @Option(help: ArgumentHelp("The line below the title.", valueName: "text"))
    var subtitle: String?

    @Option(help: ArgumentHelp("The text.", valueName: "text"))
    var body: String?

    @OptionGroup var style: NotificationStyleOptions

    @Option(help: ArgumentHelp("The name of the sender that is shown.", valueName: "text"))
    var sender: String?

    @OptionGroup var attachments: AttachmentOptions

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp(
            "The identifier: replaces the notification of this command with the same one. Defaults to a new one.",
            valueName: "id"
        )
    )
    var identifier: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard [self.interval != nil, self.date != nil, self.near != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Give the time with either --in or --at, or the place with --near.")
        }
        guard self.near != nil || self.radius == nil && !self.onExit else {
            throw ValidationError("--radius and --on-exit take a place with --near.")
        }
        guard !self.repeats || self.date?.contains("T") != true else {
            throw ValidationError("--repeat takes --in, or --at with a time of every day, such as --at 09:30.")
        }
        guard [self.title, self.subtitle, self.body].contains(where: { $0?.isEmpty == false }) else {
            throw ValidationError("Give the notification a text with --title, --subtitle or --body.")
        }
        let trigger: NotificationTrigger
        do throws(NotificationError) {
            trigger = try self.trigger()
            try trigger.validate()
        } catch {
            // The option names an interval already.
            let reason = self.date == nil ? error.message : "\(error)"
            let option = error.field == "radius" ? "--radius" : self.triggerOption
            throw ValidationError("\(option): \(reason)")
        }
        guard self.near == nil else { return }
        guard let date = trigger.nextTriggerDate() else { throw ValidationError(self.noDate) }
        do throws(NotificationError) {
            try trigger.checkDistance(of: date, from: .now)
        } catch {
            throw ValidationError("\(self.triggerOption): \(error.message)")
        }
    }

    /// The options by the fields that they become.
    private static let optionNames = [
        "identifier": "--id", "content.title": "--title", "content.subtitle": "--subtitle", "content.body": "--body",
        "content.attachments": "--attach", "content.sound": "--sound", "applicationName": "--sender",
    ]

    private var triggerOption: String { self.near != nil ? "--near" : self.date == nil ? "--in" : "--at" }
    private var noDate: String { "\(self.triggerOption): There is no such date in the future." }

    func perform(_ output: Output) async throws -> Bool {
        var content = NotificationContent(title: self.title, subtitle: self.subtitle ?? "", body: self.body ?? "")
        content.attachments = try self.attachments.attachments()
        self.style.apply(to: &content)
        var notification = RemoteNotification(
            NotificationRequest(
                identifier: self.identifier ?? UUID().uuidString.lowercased(),
                content: content,
                trigger: try self.trigger()
            )
        )
        notification.applicationName = self.sender
        // No command receives the response.
        notification.isOneWay = true
        let date = try await self.options.withNotifications(self.common) { [notification] notifications in
            do {
                return try await notifications.schedule(notification)
            } catch let error as NotificationError where error.code == .triggerInvalid {
                // The date has passed since it was checked.
                throw Failure("\(error.code)", self.noDate)
            } catch let error as NotificationError {
                throw error.naming(Self.optionNames)
            }
        }
        let id = notification.request.identifier
        try output.json(ScheduledOutput(event: "scheduled", id: id, date: date))
        try output.line(id.printable)
        let time = date.map { "at \(LocalTime.text($0))" }
        output.note("It will be shown \(time ?? "when the system \(self.onExit ? "leaves" : "enters") the region").")
        return true
    }

    private func trigger() throws(NotificationError) -> NotificationTrigger {
        if let interval = self.interval?.seconds {
            // Checked first: a greater number is no duration.
            guard interval.isFinite, abs(interval) < 1e9 else {
                throw NotificationError(.triggerInvalid, "It takes 0.001 to 315360000 seconds.")
            }
            return .timeInterval(.milliseconds(Int64((interval * 1000).rounded())), repeats: self.repeats)
        }
        if let near {
            let numbers = near.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
            guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else {
                throw NotificationError(.triggerInvalid, "It takes latitude,longitude, such as 52.52,13.405.")
            }
            let region = NotificationRegion(
                latitude: latitude,
                longitude: longitude,
                radius: self.radius ?? 100,
                notifiesOnEntry: !self.onExit,
                notifiesOnExit: self.onExit
            )
            return .location(region, repeats: self.repeats)
        }
        guard let components = Self.components(self.date ?? "") else {
            throw NotificationError(.triggerInvalid, "It takes hh:mm or yyyy-mm-ddThh:mm, such as 2027-02-01T08:00.")
        }
        return .calendar(components, repeats: self.repeats)
    }

    /// The components of `hh:mm` or `yyyy-mm-ddThh:mm`.
    static func components(_ text: String) -> DateComponents? {
        let parts = text.split(separator: "T", omittingEmptySubsequences: false)
        guard let time = parts.last, parts.count <= 2,
            let clock = Self.numbers(time, separator: ":", digits: [2, 2])
        else { return nil }
        guard parts.count == 2 else { return DateComponents(hour: clock[0], minute: clock[1]) }
        guard let day = Self.numbers(parts[0], separator: "-", digits: [4, 2, 2]) else { return nil }
        return DateComponents(year: day[0], month: day[1], day: day[2], hour: clock[0], minute: clock[1])
    }

    private static func numbers(_ text: Substring, separator: Character, digits: [Int]) -> [Int]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.count) == digits, parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            return nil
        }
        return parts.compactMap { Int($0) }
    }
}
