// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
public import ValueSets

/// An application that is installed on this machine, whether or not it runs.
///
/// A machine's host daemon publishes these descriptions (``InstalledApplications``).
public struct InstalledApplication: Sendable, Hashable, Identifiable {
    /// An app service that the application offers once it runs.
    public struct Service: Sendable, Hashable {
        /// The service's name, in reverse-DNS form.
        public var name: String
        /// Whether other machines may call the service. Defaults to `false`.
        public var supportsRemote = false
        /// The callers that may start the application by calling the service. Defaults to the systems of the account.
        public var callers = AppServiceCallers.account
        /// The schema of requests, if it is known without running the application. Defaults to `nil`.
        public var requestSchema: AllowedValueSchema?
        /// The schema of responses, if it is known without running the application. Defaults to `nil`.
        public var responseSchema: AllowedValueSchema?
        /// The schema of the requests that the service sends to its callers, if it is known without running the
        /// application. Defaults to `nil`.
        public var pushRequestSchema: AllowedValueSchema?
        /// The schema of the callers' responses to the service's requests, if it is known without running the
        /// application. Defaults to `nil`.
        public var pushResponseSchema: AllowedValueSchema?
        /// The service's version, in a format of the service's choice. Defaults to `nil`.
        public var version: String?
        /// The purpose of the service, in a sentence. Defaults to `nil`.
        public var summary: String?

        /// Creates a service that only programs on this machine may call.
        ///
        /// - Parameter name: the service's name, in reverse-DNS form.
        public init(_ name: String) {
            self.name = name
        }
    }

    /// The application's id, in reverse-DNS form.
    public let id: String
    /// The application's name as users see it. Defaults to its id.
    public var displayName: String
    /// Attributes that the application publishes, with keys of its own choice. Defaults to none.
    public var attributes: [String: String] = [:]
    /// The app services that the application offers. Defaults to none.
    public var services: [Service] = []
    /// The schemes of the URIs that the application opens, in lower case. Defaults to none.
    public var uriSchemes: [String] = []
    /// The records that the host daemon publishes for the application while no program of it publishes the topic
    /// itself, by topic and key. Limits as for ``ApplicationTopic``. Defaults to none.
    package var topics: [String: [String: ValueSet]] = [:]
    /// The publisher that signed the application's manifest. Defaults to ``ApplicationPublisher/unsigned``.
    package var publisher = ApplicationPublisher.unsigned

    /// Creates an application without services or URI schemes.
    ///
    /// - Parameters:
    ///   - id: the application's id, in reverse-DNS form.
    ///   - displayName: the application's name as users see it. Defaults to `nil`: the id.
    public init(id: String, displayName: String? = nil) {
        self.id = id
        self.displayName = displayName ?? id
    }
}

/// The installed applications of a machine, and how to start them.
///
/// A host with ``RemoteSystemHost/Options/installedApplications`` is the machine's host daemon: it lists these
/// applications, and starts one that does not run when a system of the account connects to it.
public protocol InstalledApplications: Sendable {
    /// Returns the applications that are installed now. A host publishes the first 256.
    func applications() async -> [InstalledApplication]

    /// Returns a sequence with an element whenever the result of ``applications()`` may have changed.
    ///
    /// Each call returns a new sequence. The host reads it until ``RemoteSystemHost/run()`` ends.
    func changes() -> AsyncStream<Void>

    /// Starts an application that is not running.
    ///
    /// The host makes at most one call at a time for an application. It cancels the call as soon as the application can
    /// be reached; cancellation ends the waiting, not the application.
    ///
    /// The method may return before the application can be reached; the host continues to wait, for at most
    /// ``RemoteSystemHost/Options/startTimeout``. While the method has not returned it can still throw, which reports
    /// the failed start to callers at once.
    ///
    /// - Parameter id: the id of one of the ``applications()``.
    /// - Throws: an error whose description states, in a sentence, why the application does not start. The description
    ///   is sent to callers.
    func start(_ id: String) async throws

    /// Called when an application could not be reached within ``RemoteSystemHost/Options/startTimeout`` after
    /// ``start(_:)``, which was cancelled.
    ///
    /// An implementation that runs programs ends the program that it started, so that the next start begins with a new
    /// process. The default implementation does nothing.
    ///
    /// - Parameter id: the application's id.
    func didNotComeUp(_ id: String) async
}

extension InstalledApplications {
    /// The default implementation, which does nothing.
    public func didNotComeUp(_ id: String) async {}
}
