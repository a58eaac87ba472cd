// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
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

              remotesystems notifications schedule --in 600 --title 'Tea is ready'
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
            "The time from now, in seconds. Range: 0.001 to 315360000 (10 years); at least 60 with --repeat.",
            valueName: "seconds"
        )
    )
    var interval: Double?

    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "The date in this system's time zone: hh:mm for every day's time, or yyyy-mm-ddThh:mm.",
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
        guard self.near != nil || trigger.nextTriggerDate() != nil else { throw ValidationError(self.noDate) }
    }

    /// The options by the fields that they become.
    private static let optionNames = [
        "identifier": "--id", "content.title": "--title", "content.subtitle": "--subtitle", "content.body": "--body",
        "content.attachments": "--attach", "applicationName": "--sender",
    ]

    private var triggerOption: String { self.near != nil ? "--near" : self.date == nil ? "--in" : "--at" }
    private var noDate: String { "\(self.triggerOption): There is no such date in the future." }

    func perform(_ output: Output) async throws -> Bool {
        var content = NotificationContent(title: self.title, subtitle: self.subtitle ?? "", body: self.body ?? "")
        content.attachments = try self.attachments.attachments()
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
        if let interval {
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

/// The command `remotesystems notifications pending`.
struct NotificationsPendingCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "List the scheduled notifications of this or another system, the next first.",
        usage: "remotesystems notifications pending [<system>] [<options>]",
        discussion: """
            Prints the date or the place, the id and the texts of each, and its attachments. The id of one that \
            another system has scheduled is for 'notifications cancel' on that system.

            Exit status: 1 if there is none.
            """
    )

    @Argument(
        help: "Another system of the account: \(SystemFinder.help). Defaults to this system.",
        completion: NetworkCompletion.systems
    )
    var system: String?

    @OptionGroup var names: NameOptions
    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        try self.options.network.validate(system: self.system)
        try self.names.validate(system: self.system)
    }

    /// Connects to the host daemon of the system.
    private func open() async throws -> LocalNotifications {
        guard let system else { return try await self.options.open(self.common) }
        let finder = SystemFinder(
            system,
            wait: .seconds(self.options.searchTime),
            self.options.configuration(self.common),
            acceptsName: self.names.acceptsName,
            program: .hostDaemon
        )
        let found = try await finder.find(offering: RemoteNotificationConnection.service)
        let notifications = LocalNotifications()
        try await notifications.open(RemoteSystemConnectionRequest(system: found))
        return notifications
    }

    func perform(_ output: Output) async throws -> Bool {
        let list = try await interruptible {
            let notifications = try await self.open()
            let list = try await notifications.pending()
            await notifications.close()
            return list
        }
        guard !list.isEmpty else {
            output.note("No notification is scheduled.")
            return false
        }
        for scheduled in list {
            let (request, content) = (scheduled.notification.request, scheduled.notification.request.content)
            try output.json(
                ScheduledOutput(
                    event: "pending",
                    id: request.identifier,
                    date: scheduled.dateOfDelivery,
                    application: scheduled.application,
                    sender: scheduled.notification.applicationName,
                    title: content.title,
                    subtitle: content.subtitle,
                    body: content.body,
                    repeats: request.trigger?.repeats ?? false,
                    region: request.trigger?.region.map { RegionOutput($0) },
                    attachments: content.attachments.map { AttachmentOutput($0) }
                )
            )
            let texts = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }.joined(separator: " – ")
            let source = [scheduled.notification.applicationName, scheduled.application].compactMap(\.self)
            let marks = source + (request.trigger?.repeats == true ? ["repeats"] : [])
            let place = request.trigger?.region?.text ?? "at a place"
            let time = scheduled.dateOfDelivery.map { LocalTime.text($0) } ?? place
            let line = "\(time)  \(request.identifier)  \(texts)"
            try output.line("\(line)  (\(marks.joined(separator: ", ")))".printable)
            for line in content.attachmentLines { try output.line(line.printable) }
        }
        return true
    }
}

/// The command `remotesystems notifications cancel`.
struct NotificationsCancelCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Remove scheduled notifications of this system.",
        usage: "remotesystems notifications cancel <id> ... [<options>]",
        discussion: "Exit status: 1 if none of them was scheduled."
    )

    @Argument(
        help: ArgumentHelp(
            "The ids of the notifications, as 'notifications pending' prints them, or at least the first four "
                + "characters of them.",
            valueName: "id"
        )
    )
    var identifiers: [String]

    @Option(
        help: ArgumentHelp(
            "The application that has scheduled them. Defaults to 'notifications schedule'.",
            valueName: "id"
        )
    )
    var application: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let count = try await self.options.withNotifications(self.common) { notifications in
            let pending = try await notifications.pending()
            var found: [String] = []
            for text in self.identifiers {
                guard let id = try self.identifier(text, among: pending) else {
                    output.note(self.absence(of: text, among: pending).printable)
                    continue
                }
                found.append(id)
            }
            return found.isEmpty ? 0 : try await notifications.cancel(found, of: self.application)
        }
        try output.json(CancelledOutput(count: count))
        output.note("Removed: \(count)")
        return count > 0
    }

    private var owner: String { self.application ?? "remote-systems.command.notifications" }

    /// The id that a text means: itself, or the only one that begins with it.
    private func identifier(_ text: String, among pending: [ScheduledNotification]) throws(Failure) -> String? {
        let ids = pending.filter { $0.application == self.owner }.map(\.notification.request.identifier)
        guard !ids.contains(text), text.count >= 4 else { return ids.first { $0 == text } }
        let matches = ids.filter { $0.hasPrefix(text) }
        guard matches.count <= 1 else {
            var failure = Failure(
                "misuse",
                "\(matches.count) scheduled notifications begin with '\(text)'. Name one of them: "
                    + "\(NameList.text(matches))."
            )
            failure.reason = "ambiguousName"
            throw failure
        }
        return matches.first
    }

    private func absence(of text: String, among pending: [ScheduledNotification]) -> String {
        let other = pending.first { $0.application != self.owner && $0.notification.request.identifier == text }
        guard let other else { return "No notification '\(text)' is scheduled." }
        return "The notification '\(text)' was scheduled by \(other.application). Add --application "
            + "\(other.application)."
    }
}

private struct CancelledOutput: Encodable {
    let event = "cancelled"
    let time = Date.now
    var count: Int
}

/// The output of `notifications schedule --json` and `notifications pending --json`.
private struct ScheduledOutput: Encodable {
    var event: String
    let time = Date.now
    var id: String
    /// `nil` for one that waits for a place.
    var date: Date?
    var application: String?
    var sender: String?
    var title: String?
    var subtitle: String?
    var body: String?
    var repeats: Bool?
    /// `nil` for one that waits for a date.
    var region: RegionOutput?
    var attachments: [AttachmentOutput]?
}

private struct RegionOutput: Encodable {
    var latitude: Double
    var longitude: Double
    var radius: Double
    var notifiesOnEntry: Bool
    var notifiesOnExit: Bool

    init(_ region: NotificationRegion) {
        (self.latitude, self.longitude, self.radius) = (region.latitude, region.longitude, region.radius)
        (self.notifiesOnEntry, self.notifiesOnExit) = (region.notifiesOnEntry, region.notifiesOnExit)
    }
}

extension NotificationRegion {
    /// What it waits for, such as `on leaving 52.52,13.405 (100 m)`.
    fileprivate var text: String {
        let crossings = [self.notifiesOnEntry ? "entering" : nil, self.notifiesOnExit ? "leaving" : nil]
        let radius = Int(exactly: self.radius.rounded()).map { "\($0)" } ?? "\(self.radius)"
        return "on \(crossings.compactMap(\.self).joined(separator: " or ")) \(self.latitude),\(self.longitude) "
            + "(\(radius) m)"
    }
}
