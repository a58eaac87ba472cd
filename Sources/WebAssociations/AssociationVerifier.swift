// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import RemoteSystems
package import RemoteSystemsDesktop

/// Asks sites which applications they approve for their pages, and remembers the responses in the state directory.
///
/// Each host speaks for itself: its file is fetched from the host of the page, over HTTPS.
package struct AssociationVerifier: SiteApproval {
    /// The time limit of one verification, with all its requests.
    package static let timeLimit = Duration.seconds(5)

    /// Makes the client that requests the files, from the present settings and the additional authorities as DER.
    package typealias MakeClient =
        @Sendable (AssociationSettings, [[UInt8]]) throws(AssociationFailure) -> any AssociationClient

    private let configuration: RemoteSystemsConfiguration
    private let clock: FeatureClock
    private let timeLimit: Duration
    private let makeClient: MakeClient

    /// - Parameters:
    ///   - configuration: that of this process. Its state directory keeps the settings and the responses.
    ///   - timeLimit: the time limit of one verification. Defaults to ``timeLimit``.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        timeLimit: Duration = Self.timeLimit,
        makeClient: @escaping MakeClient
    ) {
        self.configuration = configuration
        self.clock = FeatureClock(configuration)
        self.timeLimit = timeLimit
        self.makeClient = makeClient
    }

    /// Whether a site approves applications.
    ///
    /// - Parameters:
    ///   - applications: the applications, each as `publisher.application`.
    ///   - host: the host of the site, in lower case.
    ///   - isCacheUsed: whether a response that was remembered counts. Defaults to `true`.
    /// - Returns: what the site says about each application, in the given order.
    package func verify(
        _ applications: [String],
        by host: String,
        usingCache isCacheUsed: Bool = true
    ) async -> [AssociationCache.Entry] {
        let cache = isCacheUsed ? self.cache : AssociationCache()
        let known = applications.compactMap { cache.entry($0, on: host, now: .now) }
        guard known.count < applications.count else { return known }
        let site = await self.fetch(from: host)
        var isInconclusive = false
        if case .failure(let failure) = site { isInconclusive = failure.isInconclusive }
        let entries = applications.map { application in
            var failure: AssociationFailure?
            switch site {
            case .failure(let reason):
                if isInconclusive, let entry = cache.entry(application, on: host, now: .now) { return entry }
                failure = reason
            case .success(let site) where !site.file.applications.contains(application):
                failure = AssociationFailure(
                    .notListed,
                    "The association file of \(host) does not list \(application)."
                )
            case .success: break
            }
            return AssociationCache.Entry(
                host: host,
                application: application,
                failure: failure,
                maxAge: (try? site.get())?.maxAge,
                now: .now
            )
        }
        self.remember(entries, replacesValid: !isInconclusive)
        return entries
    }

    package func approvals(of applications: [String], by host: String) async -> [String: SiteApprovalResult] {
        let entries = await self.verify(applications, by: host)
        for entry in entries {
            self.configuration.logger.debug(
                "A site was asked for an application",
                metadata: [
                    "site": "\(host)", "application": "\(entry.application)",
                    "approved": "\(entry.failure == nil)", "reason": "\(entry.failure?.message ?? "")",
                ]
            )
        }
        return entries.reduce(into: [:]) { results, entry in
            if let failure = entry.failure {
                results[entry.application] = .notApproved(failure.message)
            } else {
                results[entry.application] = .approved
            }
        }
    }

    /// What is remembered.
    package var cache: AssociationCache {
        // A file that cannot be read counts as empty.
        AssociationCache((try? RemoteSystemsAccount(self.configuration).contents(of: .associations))?.bytes)
    }

    /// Forgets everything that is remembered.
    package func forget() throws(RemoteSystemError) {
        try RemoteSystemsAccount(self.configuration).update(.associations) { _, _ in AssociationCache().encoded() }
    }

    private func remember(_ entries: [AssociationCache.Entry], replacesValid: Bool) {
        do {
            try RemoteSystemsAccount(self.configuration).update(.associations) { bytes, _ in
                var cache = AssociationCache(bytes)
                for entry in entries {
                    let earlier = cache.entry(entry.application, on: entry.host, now: .now)
                    if replacesValid || earlier == nil { cache.add(entry, now: .now) }
                }
                return cache.encoded()
            }
        } catch {
            self.configuration.logger.warning(
                "The response of a site is not remembered",
                metadata: ["reason": "\(error.message)"]
            )
        }
    }

    // MARK: Fetching

    /// The file of a site, and how it was found.
    package struct Site: Sendable {
        package var path: String
        /// The signer's name; `nil` for a file without a signature.
        package var signer: String?
        package var file: AssociationFile
        var maxAge: Duration?
    }

    /// Fetches and verifies the file of a site, within the time limit.
    package func fetch(from host: String) async -> Result<Site, AssociationFailure> {
        await self.clock.first(within: self.timeLimit) {
            do throws(AssociationFailure) {
                return .success(try await self.fetchNow(from: host))
            } catch {
                return .failure(error)
            }
        }
            ?? .failure(
                AssociationFailure(.timedOut, "\(host) did not send its association file within \(self.timeLimit).")
            )
    }

    /// Verifies a file as if a site served it. A file that begins as JSON is one without a signature.
    ///
    /// - Parameter path: what the result names as the file's path.
    package func check(_ bytes: [UInt8], as host: String, path: String) async -> Result<Site, AssociationFailure> {
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let form = first == UInt8(ascii: "{") ? AssociationDocument.Form.json : .signed
        do throws(AssociationFailure) {
            let authorities = try self.settings().authorityCertificates()
            let document = AssociationDocument(path: path, form: form, bytes: bytes)
            return .success(try await Self.site(document, host: host, authorities: authorities))
        } catch {
            return .failure(error)
        }
    }

    private func settings() throws(AssociationFailure) -> AssociationSettings {
        do {
            return try AssociationSettings.read(self.configuration)
        } catch {
            throw AssociationFailure(.notTrusted, error.message)
        }
    }

    private static func site(
        _ document: AssociationDocument,
        host: String,
        authorities: [[UInt8]]
    ) async throws(AssociationFailure) -> Site {
        guard document.form == .signed else {
            let file = try AssociationFile(json: document.bytes)
            return Site(path: document.path, file: file, maxAge: document.maxAge)
        }
        let signed = try SignedAssociation(der: document.bytes)
        let signer = try await signed.verify(host: host, authorities: authorities)
        let file = try AssociationFile(json: signed.content)
        return Site(path: document.path, signer: signer, file: file, maxAge: document.maxAge)
    }

    private func fetchNow(from host: String) async throws(AssociationFailure) -> Site {
        let settings = try self.settings()
        let authorities = try settings.authorityCertificates()
        let client = try self.makeClient(settings, authorities)
        var fetch = AssociationFetch(host: host)
        var action = fetch.start()
        while true {
            switch action {
            case .request(let path): action = fetch.received(try await client.get(path, from: host))
            case .fail(let failure): throw failure
            case .finish(let document):
                return try await Self.site(document, host: host, authorities: authorities)
            }
        }
    }
}
