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

    @Test func `an activity that was resigned can become current again (X-09)`() {
        var machine = UserActivityStateMachine()
        _ = machine.becomeCurrent()
        let consequence = machine.resign()
        let second = machine.resign()
        let isCurrent = machine.becomeCurrent()
        #expect(consequence == .withdraw && second == .nothing && isCurrent)
    }

    @Test func `entries are merged: later ones replace those with their key, and others stay (H-23)`() {
        var machine = UserActivityStateMachine()
        machine.set(userInfo: ["A": 1, "B": 2])
        machine.add(["B": 3, "C": 4])
        #expect(machine.userInfo == ["A": 1, "B": 3, "C": 4])
        machine.set(userInfo: ["D": 5])
        #expect(machine.userInfo == ["D": 5])
    }

    @Test func `the flag is cleared before the application saves, and stays so unless it is set again (H-34)`() {
        var machine = UserActivityStateMachine()
        let isDueAtFirst = machine.beginSaving()
        machine.set(needsSave: true)
        let isDue = machine.beginSaving()
        #expect(!isDueAtFirst && isDue && !machine.needsSave)
        machine.endSaving(isComplete: true)
        #expect(!machine.needsSave)
        // A change during the round is saved in the next one.
        machine.set(needsSave: true)
        _ = machine.beginSaving()
        machine.set(needsSave: true)
        machine.endSaving(isComplete: true)
        #expect(machine.needsSave)
    }

    @Test func `the content is emptied once for each round of responders, and kept if they are too late (H-43)`() {
        var machine = UserActivityStateMachine()
        machine.set(userInfo: ["Old": 1])
        let isDueWithoutChange = machine.beginSaving(hasResponders: true)
        #expect(!isDueWithoutChange && machine.userInfo == ["Old": 1])
        machine.set(needsSave: true)
        _ = machine.beginSaving(hasResponders: true)
        #expect(machine.userInfo == [:])
        machine.add(["New": 2])
        machine.endSaving(isComplete: true)
        #expect(machine.userInfo == ["New": 2])
        machine.set(needsSave: true)
        _ = machine.beginSaving(hasResponders: true)
        machine.add(["Half": 3])
        machine.endSaving(isComplete: false)
        #expect(machine.userInfo == ["New": 2] && machine.needsSave)
    }
}
