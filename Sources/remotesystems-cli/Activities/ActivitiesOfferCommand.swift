// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import RemoteSystems
import ServiceLifecycle
import Synchronization
import UnixSignals
import UserActivities

/// The command `remotesystems activities offer`.
struct ActivitiesOfferCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "offer",
        abstract: "Offer an activity until another system has continued it.",
        usage: "remotesystems activities offer <type> [<field> ...] [<options>]",
        discussion: """
            Prints which system has continued the activity, and ends. Ctrl-C withdraws the offer.

            Exit status: 1 if the offer ended without being continued.
            """
    )

    @Argument(help: "The type of the activity, such as com.example.reading.")
    var type: String

    @Argument(
        help: ArgumentHelp("The fields of the content: key=value or key:=JSON.", valueName: "field"),
        transform: MessageField.init(written:)
    )
    var fields: [MessageField] = []

    @Option(help: ArgumentHelp("The title that other systems show.", valueName: "text"))
    var title: String?

    @Option(
        name: [.customLong("webpage"), .customLong("web")],
        help: ArgumentHelp("An address that shows the same in a browser: http or https.", valueName: "url")
    )
    var webpage: String?

    @Option(
        name: .customLong("for"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time after which the offer ends, \(EnteredTime.form). Range: 1 to 86400 (1d). Defaults to no end.",
            valueName: "time"
        )
    )
    var time: EnteredTime?

    @Option(
        help: ArgumentHelp(
            "The application id under which other systems see it. Defaults to one of this process.",
            valueName: "id"
        )
    )
    var applicationID: String?

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        try self.applicationID?.checkApplicationID()
        if let time = self.time, !(1...86_400).contains(time.seconds) {
            throw ValidationError("--for takes 1 to 86400 seconds, not \(time).")
        }
        guard ActivityTypeName.isValid(self.type) else {
            throw ValidationError("The type of an activity is a reversed domain name, such as com.example.reading.")
        }
        if let bytes = self.title?.utf8.count, bytes > UserActivity.maxTitleBytes {
            throw ValidationError("--title takes at most \(UserActivity.maxTitleBytes) bytes, not \(bytes).")
        }
        // The address may contain a password, and is not repeated.
        if let webpage, !["http", "https"].contains(URL(string: webpage)?.scheme?.lowercased()) {
            throw ValidationError("--webpage takes an http or https address.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let activity = UserActivity(type: self.type, title: self.title)
        activity.userInfo = try MessageField.message(self.fields, for: nil, isSent: false)
        activity.webpageURL = self.webpage.flatMap { URL(string: $0) }
        activity.expirationDate = self.time.map { Date.now + $0.seconds }
        // The content does not change any more, so what no system could receive is refused before it is offered.
        try activity.checkContent()
        let outcome = Outcome()
        activity.delegate = outcome

        let logger = self.common.logger(quietly: .notice)
        var configuration = RemoteSystemsConfiguration("activities", self.network, self.state, logger: logger)
        // One for each process, since the system that continues the activity must reach this one.
        configuration.applicationID = self.applicationID ?? "remote-systems.command.activities-offer-\(getpid())"
        let isPermitted = try HandOffSettings.read(configuration).permission(of: configuration.applicationID).sending
        var options = UserActivityHost.Options()
        options.host.displayName = "remotesystems activities offer"
        let host = UserActivityHost(configuration, activityTypes: [], options: options, handler: .closure { _ in })
        let offering = Offering(
            host: host,
            activity: activity,
            isPermitted: isPermitted,
            outcome: outcome,
            output: output
        )
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: host),
                    .init(service: offering, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        ).run()
        guard let receiver = outcome.receiver else {
            output.note("The offer has ended; nothing has continued the activity.")
            return false
        }
        try output.json(ContinuedOutput(systemID: receiver.systemID, application: receiver.claimedApplicationID))
        try output.line(
            "Continued by \(receiver.claimedApplicationID.printable) on \(receiver.systemID.short)."
        )
        return true
    }

    /// Notes which system has continued the activity.
    private final class Outcome: UserActivityDelegate {
        private let content = Mutex<UserActivityReceiver?>(nil)
        private let end = AsyncStream<Never>.makeStream()

        var receiver: UserActivityReceiver? { self.content.withLock { $0 } }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.content.withLock { $0 = receiver }
            self.end.continuation.finish()
        }

        /// Returns when the activity was continued, or the task is cancelled.
        func continued() async { for await _ in self.end.stream {} }
    }

    /// Offers the activity while the host runs.
    private struct Offering: Service {
        let host: UserActivityHost
        let activity: UserActivity
        let isPermitted: Bool
        let outcome: Outcome
        let output: Output

        func run() async throws {
            guard await self.host.host.listeningPort() != nil else { return }
            try await self.activity.becomeCurrent(at: self.host)
            let id = self.activity.id.uuidString.lowercased()
            try self.output.json(OfferingOutput(id: id, isPermitted: self.isPermitted))
            try self.output.line("Offering \(id) (Ctrl-C to withdraw)")
            if !self.isPermitted {
                self.output.note(
                    "Sending is switched off on this system, so no other system lists it until it is on: "
                        + "'remotesystems activities settings --sending on'."
                )
            }
            let changes = self.activity.changes
            await cancelWhenGracefulShutdown {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await self.outcome.continued() }
                    group.addTask {
                        // The offer ends at its time.
                        for await _ in changes where !self.activity.isCurrent { break }
                        // It also ends by being continued, of which the delegate is notified at the same time.
                        try? await Task.sleep(for: .seconds(1))
                    }
                    await group.next()
                    group.cancelAll()
                }
            }
            self.activity.resignCurrent()
        }
    }
}

private struct OfferingOutput: Encodable {
    let event = "offering"
    let time = Date.now
    var id: String
    /// Whether the user's settings let other systems list it.
    var isPermitted: Bool
}

private struct ContinuedOutput: Encodable {
    let event = "continued"
    let time = Date.now
    var systemID: SystemID
    var application: String
}
