// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@testable import UserActivities

/// The rules for one activity, without a host.
@Suite struct UserActivityStateMachineTests {
    @Test func `an activity that was invalidated never becomes current again (X-09)`() {
        var machine = UserActivityStateMachine()
        let wasCurrent = machine.becomeCurrent()
        let consequence = machine.invalidate()
        let isCurrent = machine.becomeCurrent()
        #expect(wasCurrent && consequence == .withdraw && !isCurrent)
        #expect(machine.phase == .invalidated)
    }
}
