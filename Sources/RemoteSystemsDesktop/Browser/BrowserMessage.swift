// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// A message of the extension (`Extensions/browser/README.md`).
enum BrowserMessage: Hashable {
    /// The page that the user sees now.
    case page(BrowserPage)
    /// The user sees no page that is offered. A page that cannot be offered has a reason.
    case leave(reason: String?)
    /// The user continues an offer in this browser.
    case `continue`(id: String)
    /// The browser has opened the page of a ``BrowserOrder/open(number:url:)``, or says why not.
    case opened(number: Int, failure: String?)

    /// A message is not valid.
    struct Invalid: Error, Hashable {
        var text: String
    }

    private struct Fields: Decodable {
        var type: String
        var url: String?
        var title: String?
        var incognito: Bool?
        var id: String?
        var number: Int?
        var failure: String?
    }

    init(_ bytes: [UInt8]) throws(Invalid) {
        let fields: Fields
        do {
            fields = try JSONDecoder().decode(Fields.self, from: Data(bytes))
        } catch {
            throw Invalid(text: "A message of the browser is not a JSON object with a type.")
        }
        switch (fields.type, fields.url, fields.id, fields.number) {
        case ("page", _?, _, _) where fields.incognito == true:
            self = .leave(reason: "Pages of private windows are not offered.")
        case ("page", let url?, _, _):
            // The user sees it instead of the former page, which is not offered any more.
            do throws(BrowserPage.Refusal) {
                self = .page(try BrowserPage(url, title: fields.title))
            } catch {
                self = .leave(reason: error.text)
            }
        case ("leave", _, _, _): self = .leave(reason: nil)
        case ("continue", _, let id?, _) where id.utf8.count <= 64: self = .continue(id: id)
        case ("opened", _, _, let number?):
            let failure = fields.failure.map { String($0.withoutControlCharacters.prefix(200)) }
            self = .opened(number: number, failure: failure)
        default:
            throw Invalid(text: "A message of the browser has an unknown type or lacks a field.")
        }
    }
}

/// A web page that a browser offers.
struct BrowserPage: Hashable {
    /// Why a page is not offered.
    struct Refusal: Error, Hashable {
        var text: String
    }

    /// The maximum length of an address, in bytes.
    static let maxAddressBytes = 2048

    var address: URL
    var title: String?

    /// Checks a page, and removes the user's name and password from its address.
    init(_ url: String, title: String?) throws(Refusal) {
        guard url.utf8.count <= Self.maxAddressBytes, var parts = URLComponents(string: url),
            ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false
        else {
            throw Refusal(
                text: "Only pages with an http or https address of up to \(Self.maxAddressBytes) bytes are offered."
            )
        }
        parts.user = nil
        parts.password = nil
        guard let address = parts.url else {
            throw Refusal(text: "The address of the page is not a URL.")
        }
        self.address = address
        self.title = title.flatMap(PlayerState.text)
    }
}

/// A message to the extension.
enum BrowserOrder: Encodable {
    /// The program is ready.
    case ready(application: String)
    /// What other systems offer and this browser can show.
    case offers([Offer])
    /// The browser is to open a page, and to respond with the number.
    case open(number: Int, url: String)
    /// Another system has continued the page.
    case handedOver(system: String, title: String?)
    /// The other system has failed to continue the page, which is offered again.
    case returned(system: String, title: String?)
    /// The offer was continued in this browser.
    case continued(id: String)
    /// Something failed. The id is that of the offer, if it is about one.
    case failed(code: String, message: String, id: String?)

    struct Offer: Encodable, Hashable {
        var id: String
        var title: String
        var application: String
        var system: String
    }

    private enum Key: String, CodingKey {
        case type, application, version, offers, number, url, system, title, id, code, message
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .ready(let application):
            try container.encode("ready", forKey: .type)
            try container.encode(1, forKey: .version)
            try container.encode(application, forKey: .application)
        case .offers(let offers):
            try container.encode("offers", forKey: .type)
            try container.encode(offers, forKey: .offers)
        case .open(let number, let url):
            try container.encode("open", forKey: .type)
            try container.encode(number, forKey: .number)
            try container.encode(url, forKey: .url)
        case .handedOver(let system, let title):
            try container.encode("handed-over", forKey: .type)
            try container.encode(system, forKey: .system)
            try container.encodeIfPresent(title, forKey: .title)
        case .returned(let system, let title):
            try container.encode("returned", forKey: .type)
            try container.encode(system, forKey: .system)
            try container.encodeIfPresent(title, forKey: .title)
        case .continued(let id):
            try container.encode("continued", forKey: .type)
            try container.encode(id, forKey: .id)
        case .failed(let code, let message, let id):
            try container.encode("failed", forKey: .type)
            try container.encode(code, forKey: .code)
            try container.encode(message, forKey: .message)
            try container.encodeIfPresent(id, forKey: .id)
        }
    }
}
