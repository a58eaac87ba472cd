// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The combined needs of all watchers of an account context: the shortest silence time, the longest timeouts and the
/// largest message limit.
struct BrowserNeeds: Sendable {
    /// The application id sent in presence connections: that of the watcher registered first.
    var application = ""
    /// The relations of the systems that any watcher wants.
    var wanted: Set<Standing.Kind> = [.sameAccount]
    /// The time without traffic after which a system counts as gone.
    var silenceTime = TimeAmount.hours(1)
    var connectTimeout = TimeAmount.zero
    var limits = ConnectionLimits()
    /// The topics of applications that any watcher follows.
    var topics: Set<String> = []

    /// Whether any watcher wants systems of accounts that are not linked.
    var wantsAnonymous: Bool { self.wanted.contains(.anonymous) }

    init(_ runs: [WatcherRun]) {
        for run in runs {
            let own = run.context.limits
            if self.application.isEmpty {
                self.application = run.context.configuration.applicationID
                self.limits = own
            }
            self.wanted.formUnion(run.filters.wanted)
            self.topics.formUnion(run.topics.names)
            self.silenceTime = min(self.silenceTime, TimeAmount(run.options.silenceTime))
            self.connectTimeout = max(
                self.connectTimeout,
                TimeAmount(run.context.configuration.transport.connectTimeout)
            )
            self.limits.messageBytes = max(self.limits.messageBytes, own.messageBytes)
            self.limits.helloTimeout = max(self.limits.helloTimeout, own.helloTimeout)
            self.limits.drainTime = max(self.limits.drainTime, own.drainTime)
        }
        self.limits.deadPeerTime = self.silenceTime
        // State frames of the maximum size must be readable, whatever limit the watchers configure.
        self.limits.messageBytes = max(self.limits.messageBytes, StateLimits.minLimit)
    }
}
