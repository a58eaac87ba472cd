// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsDesktop

@Suite struct PlaybackStartTests {
    private let start = ContinuousClock.Instant.now

    private func machine(isPlaying: Bool = true, volume: Double? = nil) throws -> PlaybackStartStateMachine {
        var state = PlayerState()
        state.status = isPlaying ? .playing : .paused
        state.address = "https://example.com/song"
        state.position = 30
        state.volume = volume
        return PlaybackStartStateMachine(
            try PlayedMedia(state, documents: nil),
            began: self.start,
            deadline: self.start + .seconds(20)
        )
    }

    private func state(
        _ status: PlayerState.Status = .playing,
        at position: Double?,
        length: Double? = 120,
        canSeek: Bool = true
    ) -> PlayerState {
        var state = PlayerState()
        state.status = status
        state.address = "https://example.com/song"
        state.position = position
        state.length = length
        state.trackID = "/1"
        state.canSeek = canSeek
        return state
    }

    @Test func `a player is sought to the position that the other one has reached, and has started when it moves`()
        throws
    {
        var machine = try self.machine(volume: 0.5)
        #expect(machine.observed(nil, now: self.start) == .wait)
        // It has not opened the media yet, and would ignore a seek.
        #expect(machine.observed(PlayerState(), now: self.start + .seconds(1)) == .wait)
        let now = self.start + .seconds(2)
        #expect(machine.observed(self.state(.paused, at: 0), now: now) == .setVolume(0.5))
        #expect(machine.observed(self.state(.paused, at: 0), now: now) == .play)
        #expect(machine.observed(self.state(at: 0), now: now) == .seek(to: 32, track: "/1"))
        #expect(machine.observed(self.state(at: 0.1), now: now + .milliseconds(100)) == .wait)
        #expect(machine.observed(self.state(at: 32.2), now: now + .milliseconds(200)) == .wait)
        #expect(machine.observed(self.state(at: 32.3), now: now + .milliseconds(300)) == .wait)
        #expect(machine.observed(self.state(at: 32.5), now: now + .milliseconds(500)) == .started)
    }

    @Test func `if a player is late after a seek, the next seek goes further ahead by the delay`() throws {
        var machine = try self.machine()
        #expect(machine.observed(self.state(at: 0), now: self.start) == .seek(to: 30, track: "/1"))
        let later = self.start + .seconds(2)
        #expect(machine.observed(self.state(at: 30.5), now: later) == .seek(to: 33.5, track: "/1"))
    }

    @Test func `a player that states that it is stopped, although it was asked to play, is paused and asked again`()
        throws
    {
        var machine = try self.machine()
        #expect(machine.observed(self.state(.stopped, at: 30), now: self.start) == .play)
        #expect(machine.observed(self.state(.stopped, at: 30), now: self.start + .milliseconds(500)) == .wait)
        #expect(machine.observed(self.state(.stopped, at: 31), now: self.start + .seconds(1)) == .pause)
        #expect(machine.observed(self.state(.paused, at: 31), now: self.start + .milliseconds(1050)) == .play)
    }

    @Test func `a paused track is not played, and its position is kept`() throws {
        var machine = try self.machine(isPlaying: false)
        #expect(machine.observed(self.state(at: 0), now: self.start + .seconds(5)) == .pause)
        let now = self.start + .seconds(6)
        #expect(machine.observed(self.state(.paused, at: 0), now: now) == .seek(to: 30, track: "/1"))
        #expect(machine.observed(self.state(.paused, at: 30), now: now) == .started)
    }

    @Test func `a live stream without a length or a position to seek is played where it is`() throws {
        var machine = try self.machine()
        #expect(machine.observed(self.state(at: 1, length: nil, canSeek: false), now: self.start) == .wait)
        let now = self.start + .seconds(3)
        #expect(machine.observed(self.state(at: 4, length: nil, canSeek: false), now: now) == .wait)
        let then = now + .milliseconds(400)
        #expect(machine.observed(self.state(at: 4.4, length: nil, canSeek: false), now: then) == .started)
    }

    @Test func `a position beyond the end is the end`() throws {
        var machine = try self.machine()
        #expect(machine.observed(self.state(at: 0, length: 20), now: self.start) == .seek(to: 20, track: "/1"))
    }

    @Test func `a player whose position stands still, jumps, or is wrong has not started`() throws {
        var standing = try self.machine()
        _ = standing.observed(self.state(at: 30), now: self.start)
        var action = PlaybackStartStateMachine.Action.wait
        for second in 1...8 { action = standing.observed(self.state(at: 30), now: self.start + .seconds(second)) }
        #expect(action == .fail("does not play: its position does not move"))

        var wrong = try self.machine()
        for second in 0..<20 { _ = wrong.observed(self.state(at: Double(second)), now: self.start + .seconds(second)) }
        let misplaced = wrong.observed(self.state(at: 20), now: self.start + .seconds(20))
        #expect(misplaced == .fail("is not at the right position"))

        var jumping = try self.machine()
        for second in 0..<20 {
            let position = second % 2 == 0 ? 30.0 : Double.zero
            #expect(jumping.observed(self.state(at: position), now: self.start + .seconds(second)) != .started)
        }
    }

    @Test func `a player that has gone on to a later track of the list has failed, and other addresses are no reason`()
        throws
    {
        let next = try ["https://example.com/later", "file:///music/b%2Dc.ogg"].map {
            try #require(URL(string: $0))
        }
        for (address, isSkipped) in [
            ("https://example.com/later", true), ("file:///music/b-c.ogg", true), ("https://example.com/song", false),
            ("https://cdn.example.com/song", false),
        ] {
            var state = PlayerState()
            state.status = .playing
            state.address = "https://example.com/song"
            state.position = 30
            let media = try PlayedMedia(state, documents: nil)
            var machine = PlaybackStartStateMachine(
                media,
                next: next,
                began: self.start,
                deadline: self.start + .seconds(20)
            )
            var playing = self.state(at: 30)
            playing.address = address
            let action = machine.observed(playing, now: self.start)
            let expected: PlaybackStartStateMachine.Action =
                isSkipped ? .fail("plays a later track of the list") : .wait
            #expect(action == expected, "\(address)")
        }
    }

    @Test func `a running player that still states its old track has not skipped, though that is in the list`() throws {
        var state = PlayerState()
        state.status = .playing
        state.address = "https://example.com/song"
        state.position = 30
        let media = try PlayedMedia(state, documents: nil)
        let old = try #require(URL(string: "https://example.com/later"))
        for (isStarted, expected) in [
            (false, .wait), (true, .fail("plays a later track of the list")),
        ] as [(Bool, PlaybackStartStateMachine.Action)] {
            var machine = PlaybackStartStateMachine(
                media,
                next: [old],
                isStarted: isStarted,
                began: self.start,
                deadline: self.start + .seconds(20)
            )
            var playing = self.state(at: 30)
            playing.address = old.absoluteString
            let action = machine.observed(playing, now: self.start)
            #expect(action == expected)
        }
    }

    @Test func `the next track of a player is found however its address is written`() throws {
        let track = try #require(URL(string: "file:///music/b%2Dc.ogg"))
        #expect(PlaybackStartStateMachine.isSame("file:///music/b-c.ogg", track))
        #expect(!PlaybackStartStateMachine.isSame("file:///music/b-d.ogg", track))
        #expect(!PlaybackStartStateMachine.isSame(nil, track) && !PlaybackStartStateMachine.isSame("file:///a", nil))
    }

    @Test func `a player that has left the bus has failed at once, and one that only does not respond has not`()
        throws
    {
        for isStarted in [true, false] {
            var state = PlayerState()
            state.status = .playing
            state.address = "https://example.com/song"
            state.position = 30
            var machine = PlaybackStartStateMachine(
                try PlayedMedia(state, documents: nil),
                isStarted: isStarted,
                began: self.start,
                deadline: self.start + .seconds(20)
            )
            #expect(machine.observed(nil, isOnBus: true, now: self.start) == .wait)
            let reason = isStarted ? "was started and has ended: start it by hand to see why" : "has ended"
            #expect(machine.observed(nil, isOnBus: false, now: self.start) == .fail(reason))
        }
    }

    @Test func `at the deadline, the reason says how far the player came`() throws {
        let end = self.start + .seconds(20)
        var mute = try self.machine()
        #expect(mute.observed(nil, now: end) == .fail("does not respond"))
        var empty = try self.machine()
        #expect(empty.observed(PlayerState(), now: end) == .fail("did not open the media"))
        var stubborn = try self.machine()
        #expect(stubborn.observed(self.state(.stopped, at: 0), now: end) == .fail("does not play"))
    }
}
