// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension RemoteSystemWatcher {
    /// What is there and not listed, and why.
    public struct Unlisted: Sendable, Hashable {
        /// Systems of the account that can be talked to and that no filter lets through, by id.
        public var excluded: [RemoteSystem] = []
        /// Addresses (`10.0.0.5:47474`) at which programs of the account are announced that have not answered, or not yet.
        public var unreachable: [String] = []
        /// What programs of the account said that answer and would not be connected to when they were last tried, by address: a host
        /// with as many connections as it takes, or one that is shutting down. They are tried again by themselves.
        public var refusals: [String: String] = [:]
        /// How many announcements of other accounts there are. More cannot be told: they mean nothing to us.
        public var otherAccounts = 0
        /// How many announcements there are of programs that speak another version of the protocol.
        public var otherVersions = 0
        /// What hampers the watcher now.
        public var errors: [RemoteSystemWatcherError] = []

        /// Nothing.
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
