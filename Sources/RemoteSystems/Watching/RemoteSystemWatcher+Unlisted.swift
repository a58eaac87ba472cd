// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension RemoteSystemWatcher {
    /// The systems and advertisements that a watcher sees but does not list, and the reasons. All values default to
    /// none.
    public struct Unlisted: Sendable, Hashable {
        /// Available systems that the filters exclude, by id in ascending order.
        public var excluded: [RemoteSystem] = []
        /// The addresses (`10.0.0.5:47474`) at which processes of the account are advertised but have not responded.
        public var unreachable: [String] = []
        /// The reasons of processes of the account that responded but refused the last connection, by address.
        ///
        /// For example, the host has reached its maximum number of connections, or is shutting down. The watcher
        /// retries by itself.
        public var refusals: [String: String] = [:]
        /// The number of advertisements of other accounts. The accounts cannot be identified.
        public var otherAccounts = 0
        /// The number of advertisements with another protocol version.
        public var otherVersions = 0
        /// The errors that the watcher has reported and that are not over.
        public var errors: [RemoteSystemWatcherError] = []

        /// Creates an empty value.
        public init() {}

        init(
            excluded: [RemoteSystem],
            unreachable: [String],
            refusals: [String: String],
            otherAccounts: Int,
            otherVersions: Int,
            errors: [RemoteSystemWatcherError]
        ) {
            self.excluded = excluded
            self.unreachable = unreachable
            self.refusals = refusals
            self.otherAccounts = otherAccounts
            self.otherVersions = otherVersions
            self.errors = errors
        }
    }
}
