// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import Synchronization
import UserActivities

/// The command `remotesystems activities continue`.
struct ActivitiesContinueCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "continue",
        abstract: "Continue an activity of another system here.",
        usage: "remotesystems activities continue [<activity>] [<options>]",
        discussion: """
            An application of this system that handles activities of the type continues it; the host daemon starts it \
            if it does not run. If there is none, the activity's web address is shown, if it has one: by an \
            application that the site approves, otherwise by the web browser. With --print, the command itself \
            continues it and prints the content.

            The activity stays offered until the application, the browser or, with --print, this command has its \
            content. Its origin is then notified and ends the offer, so that no other system continues it, too.

            The command prints whose activity it continues. Another system can copy the id of an activity: if several \
            offer the same one, nothing is continued, and --from states which one is meant.

            Exit status: 1 if no such activity is offered; 2 if it could not be continued.
            """
    )

    @Argument(
        help: "The activity: the beginning of its id, or its type. Not needed if there is only one.",
        completion: NetworkCompletion.offers
    )
    var activity: String?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "The system that offers the activity, by its name or the beginning of its id, or the application, by its "
                + "id.",
            valueName: "origin"
        ),
        completion: NetworkCompletion.systems
    )
    var origin: String?

    @Option(
        name: [.customLong("application"), .customLong("in")],
        help: ArgumentHelp("The application that continues the activity, if several handle its type.", valueName: "id")
    )
    var application: String?

    @Flag(
        help: "Continue the activity in this command: print its content as JSON. It is then not offered any more."
    )
    var print = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        // Every id begins with an empty text.
        guard self.activity?.isEmpty != true else { throw ValidationError("The activity's id or type is empty.") }
        guard self.origin?.isEmpty != true else { throw ValidationError("The system's name is empty.") }
        guard !self.print || self.application == nil else {
            throw ValidationError("--print and --application cannot be combined.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "activities", self.common)
        let watcher = UserActivityWatcher.knowingManifests(configuration)
        try await watcher.start()
        let isContinued = try await untilInterrupted {
            // Many systems may offer activities of the same type, and only one has this id, unless another copies it.
            if let id = self.activity.flatMap({ UUID(uuidString: $0) }) {
                await watcher.find(id, from: self.origin, withHandlers: !self.print, within: self.search.wait)
            } else {
                await watcher.enumerate(within: self.search.wait)
            }
            let offers = watcher.offers
            guard let offer = try self.choose(offers) else {
                let what = self.activity.map { "the activity '\($0)'" } ?? "an activity"
                let offered = offers.map { (type: $0.activityType, system: $0.system.idAndName()) }
                let hint = OfferedActivities.hint(for: self.activity, offers: offered)
                let missing = self.origin.map { "'\($0)' does not offer" } ?? "No other system offers"
                output.note("\(missing) \(what).\(hint)".printable)
                return false
            }
            guard !self.print || offer.system.authorizationKind != .linked else {
                throw Failure(
                    "misuse",
                    "The activity is one of a linked account, which hands it over only to an application with the same "
                        + "publisher. Leave out --print, so that an application of this system continues it."
                )
            }
            // The user sees whose activity it is: a copy of its id may have been found first.
            try output.json(OfferOutput(event: "continuing", offer))
            let system = offer.system.idAndName(SystemID.distinctPrefixes(of: offers.map(\.system.id)))
            let title = (offer.title ?? offer.activityType).quoted
            output.note("Continuing from \(system): \(offer.applicationID.quotedUnlessPlain), \(title)".printable)
            try await ContinuationNotes.during(offer, output) { notes in
                if self.print {
                    try await Self.show(offer, configuration, notes, output)
                } else {
                    try await self.handOver(offer, watcher, configuration, output)
                }
            }
            return true
        }
        await watcher.stop()
        guard let isContinued else { throw CancellationError() }
        return isContinued
    }

    /// Returns the offer that the argument names.
    private func choose(_ offers: [UserActivityOffer]) throws(Failure) -> UserActivityOffer? {
        do throws(AmbiguousOffer) {
            return try offers.named(self.activity, from: self.origin)
        } catch {
            throw Failure("\(RemoteSystemError.Code.invalidArgument)", error.message)
        }
    }

    /// Lets an application of this system continue the offer, or the browser.
    private func handOver(
        _ offer: UserActivityOffer,
        _ watcher: UserActivityWatcher,
        _ configuration: RemoteSystemsConfiguration,
        _ output: Output
    ) async throws {
        let receiver = try await OfferContinuation(watcher, configuration, WebpageResolver(configuration))
            .continue(offer, in: self.application)
        var continued = ContinuedHereOutput(id: offer.shownID, application: receiver.id)
        switch receiver {
        case .application(let application):
            try output.json(continued)
            try output.line("Continued on this machine in \(application.displayName.printable).")
        case .browser(let id, let reasons):
            continued.reasons = reasons.isEmpty ? nil : reasons
            try output.json(continued)
            for reason in reasons { output.note(reason.printable) }
            try output.line("Continued on this machine in \(id?.printable ?? "the browser"), by the web address.")
        }
    }

    /// Continues the offer in this process, and prints its content.
    private static func show(
        _ offer: UserActivityOffer,
        _ configuration: RemoteSystemsConfiguration,
        _ notes: ContinuationNotes,
        _ output: Output
    ) async throws {
        let handler = PrintingHandler(notes: notes)
        let host = UserActivityHost(configuration, activityTypes: [offer.activityType], handler: handler)
        try await host.continue(offer)
        guard let content = handler.content.withLock({ $0 }) else { return }
        try output.json(content)
        try output.line(content.content.json(prettyPrinted: true))
    }
}

/// Keeps the content of the activity, and reports how far the continuation is.
private final class PrintingHandler: ContinuationHandler {
    let content = Mutex<ActivityContentOutput?>(nil)
    private let notes: ContinuationNotes

    init(notes: ContinuationNotes) { self.notes = notes }

    func didProgress(_ progress: ContinuationProgress) { self.notes.set("\(progress.step)") }

    func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        self.content.withLock { $0 = ActivityContentOutput(activity) }
        return true
    }
}

/// The output of an activity that an application of this system has continued, with `--json`.
struct ContinuedHereOutput: Encodable {
    let event = "continued"
    let time = Date.now
    var id: String
    var application: String?
    /// Why it was continued by its web address, and by no other application.
    var reasons: [String]?
}

/// The output of a continued activity with `--json`.
private struct ActivityContentOutput: Encodable {
    let event = "content"
    let time = Date.now
    var type: String
    var title: String?
    var content: ValueSet
    var webpage: String?
    var version: Int?
    var target: String?

    init(_ activity: UserActivity) {
        self.type = activity.type
        self.title = activity.title
        self.content = activity.userInfo
        self.webpage = activity.webpageURL?.absoluteString
        self.version = activity.payloadVersion
        self.target = activity.targetContentIdentifier
    }
}
