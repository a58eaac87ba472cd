// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// What the next process knows of the notifications on the screen.
@Suite struct NotificationPlacesTests {
    private func place(_ id: UInt32, on server: String = ":1.7 a1b2") -> DesktopNotificationPlace {
        DesktopNotificationPlace(server: server, id: id)
    }

    @Test func `a place is known from the time at which it is used until it is empty (N-07)`() {
        var places = NotificationPlaces()
        places.shown("a", at: self.place(1))
        places.shown("b", at: self.place(2))
        // The same place once more.
        places.shown("a", at: self.place(1))
        #expect(places.texts == ["1 :1.7 a1b2": "a", "2 :1.7 a1b2": "b"])
        // It had to give way, and is shown again later.
        places.removed(self.place(1))
        places.shown("a", at: self.place(3))
        // A place of another program.
        places.removed(self.place(9))
        #expect(places.texts == ["2 :1.7 a1b2": "b", "3 :1.7 a1b2": "a"])
    }

    @Test func `a number belongs to its server and its bus`() {
        var state = NotificationSession.State(places: [:])
        (state.server, state.bus) = (":1.7", "a1b2")
        #expect(state.place(3) == self.place(3))
        state.bus = "c3d4"
        #expect(state.place(3) != self.place(3))
        (state.server, state.bus) = (":1.8", "a1b2")
        #expect(state.place(3) != self.place(3))
    }

    @Test func `what an earlier server has shown is forgotten when another one shows something (N-07)`() {
        var places = NotificationPlaces()
        places.shown("a", at: self.place(1))
        places.shown("b", at: self.place(2))
        places.shown("a", at: self.place(1, on: ":1.8 a1b2"))
        #expect(places.texts == ["1 :1.8 a1b2": "a"])
        // After a login, another bus gives the same name.
        places.shown("a", at: self.place(1, on: ":1.8 c3d4"))
        #expect(places.texts == ["1 :1.8 c3d4": "a"])
    }

    @Test func `the next process replaces one place of each notification, and closes the others (N-07)`() {
        let texts = ["1 :1.7 a1b2": "a", "2 :1.7 a1b2": "b", "3 :1.7 a1b2": "a", "nowhere": "c", "4": "d", "x y": "e"]
        let places = NotificationPlaces(texts: texts).places
        #expect(places == ["a": self.place(3), "b": self.place(2), "1 :1.7 a1b2": self.place(1)])
    }
}
