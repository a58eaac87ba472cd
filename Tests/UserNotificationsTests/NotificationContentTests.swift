// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotifications
import ValueSets

@Suite struct NotificationContentTests {
    private static var full: NotificationContent {
        var content = NotificationContent(
            title: "Deploy?\u{1b}[31m",
            subtitle: "Build 1284",
            body: "All tests have passed.",
            sound: .named("message-new-instant"),
            categoryIdentifier: "deployment",
            userInfo: ["build": 1284]
        )
        content.badge = 3
        content.threadIdentifier = "builds"
        content.interruptionLevel = .timeSensitive
        content.relevanceScore = 0.75
        content.targetContentIdentifier = "build-1284"
        content.filterCriteria = "work"
        return content
    }

    @Test("Content with every field survives its value set, control characters included (N-09, X-60)")
    func contentSurvives() throws {
        #expect(try NotificationContent(Self.full.valueSet) == Self.full)
        #expect(try NotificationContent([:]) == NotificationContent())
    }

    @Test("A level that a later version sends is read as active (X-60)")
    func unknownLevel() throws {
        #expect(try NotificationContent(["Level": "urgent"]).interruptionLevel == .active)
    }

    @Test(
        "A field out of range is an error that names the field",
        arguments: [
            (["Title": .string(String(repeating: "a", count: 513))], "title", "limitExceeded"),
            (["Body": .string(String(repeating: "a", count: 8193))], "body", "limitExceeded"),
            (["Title": 5], "Title", "invalidContent"),
            (["Badge": -1], "badge", "limitExceeded"),
            (["Badge": 1_000_000], "badge", "limitExceeded"),
            (["Badge": 0.5], "Badge", "invalidContent"),
            (["Relevance": 1.01], "relevanceScore", "limitExceeded"),
            (["Relevance": .double(.nan)], "relevanceScore", "limitExceeded"),
            (["Category": ""], "categoryIdentifier", "invalidContent"),
            (["Thread": "a\u{7}"], "threadIdentifier", "invalidContent"),
            (["UserInfo": ["a": .string(String(repeating: "a", count: 17_000))]], "userInfo", "limitExceeded"),
        ] as [(ValueSet, String, String)]
    )
    func outOfRange(set: ValueSet, field: String, code: String) {
        let error = #expect(throws: NotificationError.self) { try NotificationContent(set) }
        #expect(error?.field == field)
        #expect(error.map { "\($0.code)" } == code)
    }

    @Test("A category keeps its actions, text fields and options (N-51, N-52, X-58, X-59)")
    func categorySurvives() throws {
        var category = NotificationCategory(
            identifier: "event-invite",
            actions: [
                NotificationAction(identifier: "accept", title: "Accept", options: .foreground),
                NotificationAction(
                    identifier: "decline",
                    title: "Decline",
                    options: [.destructive, .authenticationRequired]
                ),
                NotificationAction(
                    TextInputNotificationAction(
                        identifier: "comment",
                        title: "Comment",
                        textInputButtonTitle: "Post",
                        textInputPlaceholder: "Your comment"
                    )
                ),
            ],
            intentIdentifiers: ["invite"],
            options: [.customDismissAction, .hiddenPreviewsShowTitle]
        )
        category.hiddenPreviewsBodyPlaceholder = "An invitation"
        category.summaryFormat = "%u invitations"
        let received = try NotificationCategory(category.valueSet)
        #expect(received == category)
        let textInput = received.actions.last?.textInput
        #expect(textInput?.buttonTitle == "Post" && textInput?.placeholder == "Your comment")
    }

    @Test("The options of a category and an action have Apple's numbers (X-58, X-59, N-53)")
    func optionNumbers() {
        #expect(NotificationCategory.Options.customDismissAction.rawValue == 1)
        #expect(NotificationCategory.Options.allowInCarPlay.rawValue == 2)
        #expect(NotificationCategory.Options.hiddenPreviewsShowTitle.rawValue == 4)
        #expect(NotificationCategory.Options.hiddenPreviewsShowSubtitle.rawValue == 8)
        #expect(NotificationCategory.Options.allowAnnouncement.rawValue == 16)
        #expect(NotificationAction.Options.authenticationRequired.rawValue == 1)
        #expect(NotificationAction.Options.destructive.rawValue == 2)
        #expect(NotificationAction.Options.foreground.rawValue == 4)
        #expect(NotificationAction(identifier: "a", title: "A").options.isEmpty)
        #expect(TextInputNotificationAction(identifier: "a", title: "A").options.isEmpty)
        #expect(NotificationCategory(identifier: "a").options.isEmpty)
    }

    @Test("Reserved, repeated and empty identifiers of actions are errors that name the action (N-43)")
    func badActions() {
        func field(_ actions: [NotificationAction]) -> String? {
            let category = NotificationCategory(identifier: "c", actions: actions)
            return #expect(throws: NotificationError.self) { try category.validate() }?.field
        }
        let good = NotificationAction(identifier: "a", title: "A")
        #expect(field([good, good]) == "actions[1].identifier")
        #expect(field([good, NotificationAction(identifier: .default, title: "A")]) == "actions[1].identifier")
        #expect(field([NotificationAction(identifier: .dismiss, title: "A")]) == "actions[0].identifier")
        // The buttons of a presenter and of the host daemon.
        let details = NotificationAction(identifier: "remote-systems.open-card", title: "A")
        #expect(field([details]) == "actions[0].identifier")
        let similar = NotificationAction(identifier: "open-attachment", title: "A")
        #expect(throws: Never.self) { try NotificationCategory(identifier: "c", actions: [similar]).validate() }
        #expect(field([NotificationAction(identifier: "a", title: "")]) == "actions[0].title")
        let many = (0...10).map { NotificationAction(identifier: .init("\($0)"), title: "A") }
        #expect(field(many) == "actions")
    }

    @Test("A response keeps what the user chose, entered, and where (N-49, N-54)")
    func responseSurvives() throws {
        var response = NotificationResponse(
            id: "r1",
            requestIdentifier: "q",
            actionIdentifier: "comment",
            userText: "Yes\nplease"
        )
        response.systemID = "abc"
        response.systemName = "Laptop"
        #expect(try NotificationResponse(response.valueSet) == response)
        response.userText = String(repeating: "a", count: 4097)
        #expect(throws: NotificationError.self) { try NotificationResponse(response.valueSet) }
    }
}
