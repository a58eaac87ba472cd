// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Finds the association file of a site: which path to request next, and what to make of each response.
///
/// The well-known path comes first, then the root. The root is tried only where the first path has no file: a file that
/// is there and wrong is the site's word.
struct AssociationFetch: Sendable {
    enum Action: Sendable, Hashable {
        case request(path: String)
        case finish(AssociationDocument)
        case fail(AssociationFailure)
    }

    /// The maximum number of redirects for each of the paths.
    static let maxRedirects = 3
    private static let maxPathBytes = 1024

    private let host: String
    private var remaining = ["/.well-known/apple-app-site-association", "/apple-app-site-association"]
    private var path = ""
    private var redirects = 0

    init(host: String) { self.host = host }

    mutating func start() -> Action { self.next(orFail: AssociationFailure(.noFile, "")) }

    mutating func received(_ response: AssociationResponse) -> Action {
        switch response.status {
        case 200: self.content(response)
        case 301, 302, 303, 307, 308: self.redirect(to: response.fields["location"])
        case 404, 410: self.next(orFail: AssociationFailure(.noFile, "\(self.host) has no association file."))
        default: .fail(.otherStatus("\(self.host) responds with the HTTP status \(response.status)."))
        }
    }

    private mutating func next(orFail failure: AssociationFailure) -> Action {
        guard !self.remaining.isEmpty else { return .fail(failure) }
        self.path = self.remaining.removeFirst()
        self.redirects = 0
        return .request(path: self.path)
    }

    /// Follows a redirect to the same host over HTTPS.
    private mutating func redirect(to location: String?) -> Action {
        guard self.redirects < Self.maxRedirects else {
            return .fail(
                AssociationFailure(.redirected, "\(self.host) redirects more than \(Self.maxRedirects) times.")
            )
        }
        let base = URL(string: "https://\(self.host)\(self.path)")
        guard let location, location.utf8.count <= Self.maxPathBytes,
            location.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let target = URL(string: location, relativeTo: base)?.absoluteURL
        else {
            return .fail(AssociationFailure(.redirected, "\(self.host) redirects to no valid address."))
        }
        guard target.scheme?.lowercased() == "https", target.host()?.lowercased() == self.host,
            target.port == nil || target.port == 443, target.user() == nil
        else {
            return .fail(
                AssociationFailure(
                    .redirected,
                    "\(self.host) redirects to \(location.prefix(200)). Only redirects within the host, over HTTPS, "
                        + "are followed."
                )
            )
        }
        self.redirects += 1
        let path = target.path().isEmpty ? "/" : target.path()
        self.path = path + (target.query().map { "?\($0)" } ?? "")
        return .request(path: self.path)
    }

    private func content(_ response: AssociationResponse) -> Action {
        let type = response.fields["content-type"]?.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        guard let form = type.flatMap({ AssociationDocument.Form(rawValue: $0) }) else {
            return .fail(
                AssociationFailure(
                    .contentType,
                    "\(self.host) sends the file as '\((type ?? "").prefix(80))', which must be "
                        + "'application/json' or 'application/pkcs7-mime'."
                )
            )
        }
        guard ["", "identity"].contains(response.fields["content-encoding"] ?? "") else {
            return .fail(AssociationFailure(.contentType, "\(self.host) sends the file compressed."))
        }
        guard response.body.count <= AssociationFile.maxBytes else {
            return .fail(
                AssociationFailure(.tooLarge, "The file has more than \(AssociationFile.maxBytes) bytes, the maximum.")
            )
        }
        return .finish(
            AssociationDocument(
                path: self.path,
                form: form,
                bytes: response.body,
                maxAge: Self.maxAge(response.fields["cache-control"] ?? "")
            )
        )
    }

    /// The lifetime in a Cache-Control field (RFC 9111, section 5.2.2); `nil` if it states none.
    private static func maxAge(_ field: String) -> Duration? {
        for directive in field.lowercased().split(separator: ",").map({ $0.filter { $0 != " " } }) {
            if directive == "no-store" || directive == "no-cache" { return .zero }
            if directive.hasPrefix("max-age="), let seconds = Int64(directive.dropFirst(8)), seconds >= 0 {
                return .seconds(min(seconds, 1 << 31))
            }
        }
        return nil
    }
}

/// A fetched file.
struct AssociationDocument: Sendable, Hashable {
    /// How the file is sent, by its content type.
    enum Form: String, Sendable {
        case json = "application/json"
        /// In a signature in DER.
        case signed = "application/pkcs7-mime"
    }

    var path: String
    var form: Form
    var bytes: [UInt8]
    /// The time for which the server permits to keep it; `nil` if it states none.
    var maxAge: Duration?
}
