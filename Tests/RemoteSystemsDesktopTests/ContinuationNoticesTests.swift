// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// What is shown of continuations that programs have begun over the session bus.
@Suite struct ContinuationNoticesTests {
    @Test func `a continuation is shown quietly when it takes long, and until it ends (H-95)`() throws {
        var notices = ContinuationNotices()
        let number = notices.begin("Minutes”\n1")
        #expect(notices.notifications(isLocked: false).isEmpty)
        let isLong = notices.takesLong(number)
        #expect(isLong)
        let shown = try #require(notices.notifications(isLocked: false).first)
        #expect(shown.summary == "Continuing “Minutes' 1” …")
        #expect(shown.urgency == .low && shown.isSilent && shown.actions.isEmpty)
        // Everyone who passes by can read it.
        #expect(notices.notifications(isLocked: true).isEmpty)
        let wasShown = notices.end(number)
        #expect(wasShown)
        #expect(notices.notifications(isLocked: false).isEmpty)
    }

    @Test func `a continuation that has ended in time is not shown, and others have keys of their own`() {
        var notices = ContinuationNotices()
        let short = notices.begin("Short")
        let (wasShown, isLong) = (notices.end(short), notices.takesLong(short))
        #expect(!wasShown && !isLong)
        #expect(notices.notifications(isLocked: false).isEmpty)
        for title in 1...9 {
            let number = notices.begin("\(title)")
            _ = notices.takesLong(number)
        }
        let shown = notices.notifications(isLocked: false)
        #expect(shown.count == ContinuationNotices.max && Set(shown.map(\.key)).count == shown.count)
    }
}
