// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGIO
import FoundationEssentials

@testable import RemoteSystemsDesktop
@testable import UserActivities
@testable import UserNotifications
@testable import UserNotificationsUI
@testable import ValueSets

/// Reads the input as messages of other programs of this system: of a browser's extension, of a stream of requests, of
/// an extension that shows a card and of its window, and of the session bus.
func fuzzMessage(_ input: [UInt8]) {
    checkBrowserMessages(input)
    checkStreamMessages(input)
    checkExtension(String(decoding: input, as: UTF8.self))
    checkBusDictionary(input)
    if let set = try? ValueSet(encoded: input) { checkCard(set) }
    if let set = try? ValueSet(json: String(decoding: input, as: UTF8.self)) { checkCard(set) }
}

private func checkBrowserMessages(_ input: [UInt8]) {
    if let message = try? BrowserMessage(input) { check(message) }
    var messages = NativeMessages()
    messages.append(input)
    var rest = input[...]
    while let message = try? messages.next() {
        guard let framed = NativeMessages.framed(message) else { broken("a message is too long") }
        require(rest.starts(with: framed), "a message changed")
        rest = rest.dropFirst(framed.count)
        if let message = try? BrowserMessage(message) { check(message) }
    }
}

private func check(_ message: BrowserMessage) {
    switch message {
    case .page(let page):
        require(["http", "https"].contains(page.address.scheme?.lowercased() ?? ""), "a page of another scheme")
        require(page.address.user() == nil && page.address.password() == nil, "a page has a user name or a password")
        require((page.title ?? "").count <= PlayerState.maxTextLength, "a title is too long")
        require(page.title?.hasControlCharacters != true, "a title is unsafe")
    case .continue(let id): require(id.utf8.count <= 64, "an id is too long")
    case .opened(_, let failure):
        require((failure ?? "").count <= 200 && failure?.hasControlCharacters != true, "a reason is unsafe")
    case .leave: break
    }
}

private func checkStreamMessages(_ input: [UInt8]) {
    let whole = streamMessages([input[...]])
    let middle = input.count / 2
    require(
        streamMessages([input[..<middle], input[middle...]]) == whole,
        "messages depend on the division into reads"
    )
    var rest = input[...]
    for message in whole {
        require(rest.starts(with: message), "a message changed")
        rest = rest.dropFirst(message.count)
    }
}

/// The encoded messages up to the first that is refused.
private func streamMessages(_ parts: [ArraySlice<UInt8>]) -> [[UInt8]] {
    var reader = StreamMessages()
    var found: [[UInt8]] = []
    for part in parts {
        reader.append(part)
        do {
            while let next = try reader.next() {
                let encoded = try StreamMessages.encode(next.message)
                require(next.bytes == encoded.count, "a message has another length")
                found.append(encoded)
            }
        } catch {
            return found
        }
    }
    return found
}

private func checkExtension(_ line: String) {
    if let replies = try? ContentExtensionReply.read(line) {
        for reply in replies {
            guard let text = try? reply.line, let again = try? ContentExtensionReply.read(text) else {
                broken("what an extension writes cannot be read again")
            }
            require(again.count == 1 && (try? again.first?.line) == text, "what an extension writes changed")
        }
    }
    guard let request = try? ContentExtensionRequest(line) else { return }
    // A notification gets the time of its arrival, which is not in every line.
    if case .notification = request { return }
    guard let text = try? request.line else { return }
    guard let again = try? ContentExtensionRequest(text) else {
        broken("a request to an extension cannot be read again")
    }
    // A number that is not a number differs from itself.
    require(again == request || request != request, "a request to an extension changed")
}

private func checkCard(_ set: ValueSet) {
    if let card = try? NotificationCard(set) {
        require(card.elements.count <= 32, "a card has too many elements")
        let identifiers = card.elements.compactMap(\.identifier)
        require(Set(identifiers).count == identifiers.count, "two controls have the same identifier")
        require(identifiers.allSatisfy { (1...128).contains($0.utf8.count) }, "an identifier has no valid length")
        for case .slider(_, _, let value, let range, let step) in card.elements {
            require(range.contains(value) && (step ?? 1) > 0, "a slider is out of its range")
        }
        guard let again = try? NotificationCard(card.valueSet) else { broken("a card cannot be read again") }
        require(again == card, "a card changed")
    }
    if let command = try? CardWindowCommand(set) {
        guard let again = try? CardWindowCommand(command.valueSet) else { broken("a command cannot be read again") }
        require(isSame(again.valueSet, command.valueSet), "a command changed")
    }
    // Its values are of any kind. Of a set that has no encoding, as with two numbers that are not a number, nothing can
    // be compared.
    if let event = try? CardWindowEvent(set), (try? event.valueSet.encoded()) != nil {
        guard let again = try? CardWindowEvent(event.valueSet) else { broken("an event cannot be read again") }
        require(isSame(again.valueSet, event.valueSet), "an event changed")
    }
}

/// Reads the input as the bytes of a `GVariant` of the type `a{sv}`, which are checked only here.
private func checkBusDictionary(_ input: [UInt8]) {
    guard let type = g_variant_type_new("a{sv}") else { return }
    defer { g_variant_type_free(type) }
    guard let bytes = g_bytes_new(input, gsize(input.count)) else { return }
    defer { g_bytes_unref(bytes) }
    guard let variant = g_variant_ref_sink(g_variant_new_from_bytes(type, bytes, 0)) else { return }
    defer { g_variant_unref(variant) }
    guard let set = try? ValueSet(gVariant: variant) else { return }
    guard (try? set.encoded()) != nil, let made = try? set.makeGVariant() else { return }
    guard let written = g_variant_ref_sink(made) else { return }
    defer { g_variant_unref(written) }
    guard let again = try? ValueSet(gVariant: written) else { broken("a dictionary for the bus cannot be read again") }
    require(isSame(again, set), "a dictionary for the bus changed")
}
