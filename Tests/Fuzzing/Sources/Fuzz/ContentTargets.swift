// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

@testable import RemoteSystemsDesktop
@testable import UserActivities
@testable import UserNotifications
@testable import ValueSets

// What is read can be written, and reading that gives the same again. Both are compared as bytes: a number that is not
// a number differs from itself.

/// Reads the input as an offer of an activity, as its content, and as a request of a receiver.
func fuzzActivity(_ input: [UInt8]) {
    guard let set = try? ValueSet(encoded: input) else { return }
    if let offer = ActivityDescriptor(key: "00112233-4455-6677-8899-aabbccddeeff", set) { check(offer) }
    if let type = set["Type"]?.string, let payload = try? ActivityPayload(set, offeredAs: type) { check(payload) }
    if let request = ContinuationRequest(set) {
        guard let again = ContinuationRequest(request.message) else { broken("a request cannot be read again") }
        require(isSame(again.message, request.message), "a request changed")
    }
}

private func check(_ offer: ActivityDescriptor) {
    require(ActivityTypeName.isValid(offer.type), "an offer has no valid type")
    require((1...ActivityDescriptor.maxLifetime).contains(Int(offer.lifetime.components.seconds)), "an endless offer")
    require((offer.targetContentIdentifier ?? "").utf8.count <= ActivityDescriptor.maxIdentifierBytes, "a long target")
    checkTitle(offer.title)
    guard let again = ActivityDescriptor(key: offer.key, offer.record) else { broken("an offer cannot be read again") }
    require(again.id == offer.id && isSame(again.record, offer.record), "an offer changed")
    // What the user sees of it.
    var notifications = OfferNotifications()
    notifications.lock(false)
    notifications.set([
        .init(
            key: offer.key,
            id: offer.id,
            title: offer.title ?? offer.type,
            application: "Editor",
            system: "laptop",
            receivers: []
        )
    ])
    for shown in notifications.notifications {
        require(!shown.summary.hasControlCharacters && shown.summary.count <= 160, "an offer's title is shown as it is")
        require(shown.body == "“Editor” on “laptop”", "an offer's title takes another place")
    }
}

private func check(_ payload: ActivityPayload) {
    let attributes = payload.attributes
    checkTitle(attributes.title)
    require(attributes.keywords.count <= ActivityPayload.maxKeywords, "an activity has too many keywords")
    require(payload.bytes <= UserActivityHost.maxPayloadBytes, "an activity is too large")
    for url in [attributes.webpageURL, attributes.referrerURL].compactMap(\.self) {
        require(["http", "https"].contains(url.scheme?.lowercased() ?? ""), "an address of another scheme")
        require(url.user() == nil && url.password() == nil, "an address has a user name or a password")
    }
    guard let again = try? ActivityPayload(payload.message, offeredAs: payload.type) else {
        broken("an activity cannot be read again")
    }
    require(isSame(again.message, payload.message), "an activity changed")
    guard let page = payload.webpageOnly else { return }
    require(page.userInfo.isEmpty && page.attributes.keywords.isEmpty, "a browser gets more than the address")
}

private func checkTitle(_ title: String?) {
    guard let title else { return }
    require(title.utf8.count <= ActivityDescriptor.maxTitleBytes && !title.hasControlCharacters, "a title is unsafe")
}

/// Reads the input as a notification of another system, as a payload in the form of Apple's push service, and as the
/// state of a notification and its key.
func fuzzNotification(_ input: [UInt8]) {
    if let payload = try? RemotePayload(json: Data(input)) { check(payload.content, nil) }
    let text = String(decoding: input, as: UTF8.self)
    for status in NotificationState.Status.allCases {
        guard let key = NotificationState.RecordKey(text, status) else { continue }
        require(NotificationState.RecordKey(key.text, status) == key, "the key of a state changed")
    }
    guard let set = try? ValueSet(encoded: input) else { return }
    if let state = NotificationState(set) {
        guard let again = NotificationState(state.valueSet) else { broken("a state cannot be read again") }
        require(isSame(again.valueSet, state.valueSet), "a state changed")
    }
    guard let notification = try? RemoteNotification(set) else { return }
    guard let again = try? RemoteNotification(notification.valueSet) else {
        broken("a notification cannot be read again")
    }
    require(isSame(again.valueSet, notification.valueSet), "a notification changed")
    let size = (try? notification.valueSet.encodedSize()) ?? .max
    require(size <= NotificationLimits.remotePayloadBytes, "a notification is too large")
    check(notification.request.content, notification)
}

private func check(_ content: NotificationContent, _ notification: RemoteNotification?) {
    require(content.title.utf8.count <= NotificationLimits.titleBytes, "a title is too long")
    require(content.body.utf8.count <= NotificationLimits.bodyBytes, "a body is too long")
    require(content.attachments.count <= NotificationLimits.attachments, "a notification has too many attachments")
    require(content.attachments.allSatisfy { $0.imagePath == nil }, "a sender names a file of this system")
    let presented = PresentedNotification(
        identifier: "1",
        content: content,
        category: notification?.category,
        applicationName: notification?.applicationName ?? "com.example.app",
        systemName: "laptop"
    )
    for isLocked in [false, true] {
        let shown = DesktopNotification(presented, isLocked: isLocked)
        require(!isLocked || (shown.actions.isEmpty && shown.textField == nil), "a locked screen offers an action")
        require(!shown.summary.hasControlCharacters && shown.summary.count <= 120, "a summary is unsafe")
        for action in shown.actions {
            require(!action.label.hasControlCharacters && action.label.count <= 40, "a button is unsafe")
        }
        let body = shown.markupBody(showsAll: false)
        require(!body.unicodeScalars.contains { $0 == "<" || $0 == ">" }, "a body has markup")
        require(!body.split(separator: "\n").contains { $0.contains(where: isControl) }, "a body is unsafe")
        // The last line is the sender, whatever the texts are.
        require(isLocked || body.hasSuffix("” on “laptop”"), "a text takes the place of the sender")
    }
}

private func isControl(_ character: Character) -> Bool {
    character.unicodeScalars.contains(where: \.isControlCharacter)
}

func isSame(_ one: ValueSet, _ other: ValueSet) -> Bool {
    guard let bytes = try? one.encoded() else { return false }
    return (try? other.encoded()) == bytes
}
