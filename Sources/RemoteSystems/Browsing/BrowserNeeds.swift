// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport

/// What the watchers of an account context need of their presence connections, all of them together: the quickest to
/// notice silence, the most patient with what connects, the one that takes the longest messages.
struct BrowserNeeds: Sendable {
    /// The application that the connections are made for: that of the watcher that has been there the longest.
    var application = ""
    /// Whether somebody wants to see systems of other accounts.
    var wantsAnonymous = false
    /// Silence after which a system counts as gone.
    var silenceTime = TimeAmount.hours(1)
    var connectTimeout = TimeAmount.zero
    var limits = ConnectionLimits()

    init(_ runs: [WatcherRun]) {
        for run in runs {
            let own = run.context.limits
            if self.application.isEmpty {
                self.application = run.context.configuration.applicationID
                self.limits = own
            }
            self.wantsAnonymous = self.wantsAnonymous || run.filters.wantAnonymous
            self.silenceTime = min(self.silenceTime, TimeAmount(run.options.silenceTime))
            self.connectTimeout = max(self.connectTimeout, TimeAmount(run.context.configuration.connectTimeout))
            self.limits.messageBytes = max(self.limits.messageBytes, own.messageBytes)
            self.limits.handshakeTimeout = max(self.limits.handshakeTimeout, own.handshakeTimeout)
            self.limits.drainTime = max(self.limits.drainTime, own.drainTime)
        }
        self.limits.deadPeerTime = self.silenceTime
        // State frames of the longest form are read, however short messages are to be.
        self.limits.messageBytes = max(self.limits.messageBytes, StateLimits.minLimit)
    }
}
