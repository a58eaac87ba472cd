// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystems

/// When a host warns that its certificate ends.
@Suite struct CertificateReminderTests {
    private static let end = Date(timeIntervalSince1970: 2_000_000_000)

    /// The notices at the numbers of days before the end, in order.
    private static func notices(_ days: [Double]) -> [CertificateReminder.Notice?] {
        var reminder = CertificateReminder()
        return days.map { reminder.notice(of: Self.end, at: Self.end.addingTimeInterval(-$0 * 86_400)) }
    }

    @Test func `a host warns once a day from ten days before the end, and once after it`() {
        #expect(
            Self.notices([30, 10, 9.9, 9.5, 8.91, 8.89, 8.5, 1.5, 0.5, 0.1, 0, -0.1, -1, -30])
                == [
                    nil, nil, .ending(days: 9), nil, nil, .ending(days: 8), nil, .ending(days: 1), .ending(days: 0),
                    nil, .expired, nil, nil, nil,
                ]
        )
    }

    @Test func `a certificate that was renewed ends the warnings, and a clock that was set back does not`() {
        var reminder = CertificateReminder()
        let now = Self.end.addingTimeInterval(-86_400)
        let first = reminder.notice(of: Self.end, at: now)
        let renewed = reminder.notice(of: Self.end.addingTimeInterval(90 * 86_400), at: now)
        let next = reminder.notice(of: Self.end, at: now)
        #expect([first, renewed, next] == [.ending(days: 1), nil, .ending(days: 1)])
        #expect(Self.notices([2, 3]) == [.ending(days: 2), .ending(days: 3)])
        #expect(Self.notices([-1, 1, -1]) == [.expired, .ending(days: 1), .expired])
    }
}
