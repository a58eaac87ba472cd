// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// An application that is installed on this machine, whether or not it runs: what a host that speaks for the machine tells
/// of it.
public struct InstalledApplication: Sendable, Hashable, Identifiable {
    /// An app service that the application offers once it runs.
    public struct Service: Sendable, Hashable {
        /// The service's name.
        public var name: String
        /// Whether other machines may call it. Not unless said so.
        public var supportsRemote = false
        /// Who may have the application started by calling it.
        public var callers = AppServiceCallers.account
        /// What requests must look like, if that is known without the application.
        public var requestSchema: AllowedValueSchema?
        /// What responses look like, if that is known without the application.
        public var responseSchema: AllowedValueSchema?
        /// What the service's requests to its callers look like, if that is known without the application.
        public var pushRequestSchema: AllowedValueSchema?
        /// What responses to those must look like, if that is known without the application.
        public var pushResponseSchema: AllowedValueSchema?
        /// Its version, in whatever form the service's makers count.
        public var version: String?
        /// What it is for, in a sentence.
        public var summary: String?

        /// A service that only this machine may call.
        public init(_ name: String) {
            self.name = name
        }
    }

    /// The application's id, in reverse-DNS form.
    public let id: String
    /// The application's name for people.
    public var displayName: String
    /// What it says of itself, by keys of its own choice.
    public var attributes: [String: String] = [:]
    /// The app services that it offers.
    public var services: [Service] = []
    /// The schemes of the URIs that it opens, in lower case.
    public var uriSchemes: [String] = []

    /// An application that offers nothing yet.
    public init(id: String, displayName: String? = nil) {
        self.id = id
        self.displayName = displayName ?? id
    }
}

/// The applications of a machine, and how to start them. Given to a host in
/// ``RemoteSystemHost/Options/installedApplications``, it makes that host speak for the machine: it lists them, and starts one
/// that does not run when somebody of the account connects to it.
public protocol InstalledApplications: Sendable {
    /// What is installed now. A host tells others of the first 256.
    func applications() async -> [InstalledApplication]

    /// An element whenever ``applications()`` may give something else than before. Each call makes a sequence of its own.
    func changes() -> AsyncStream<Void>

    /// Starts an application. The host calls it for one application once at a time, and cancels it as soon as the
    /// application can be reached, which ends the waiting and not the application.
    ///
    /// It may return before the application can be reached; the host goes on waiting. It does not need to: as long as it runs
    /// it can still throw, which tells callers at once that the start has failed.
    ///
    /// - Throws: an error whose description says, in a sentence, why the application does not start. Callers read it.
    func start(_ id: String) async throws

    /// Called when an application could not be reached in time after ``start(_:)``, which was cancelled. Whoever runs programs ends what it
    /// has started for it: nobody can talk to that, and the next start is to begin anew. Does nothing unless implemented.
    func didNotComeUp(_ id: String) async
}

extension InstalledApplications {
    /// Nothing.
    public func didNotComeUp(_ id: String) async {}
}
