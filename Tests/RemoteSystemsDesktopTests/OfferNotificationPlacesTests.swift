// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// The file that says where notifications of offers are shown.
@Suite struct OfferNotificationPlacesTests {
    private func with(_ body: (RemoteSystemsConfiguration) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "places-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(RemoteSystemsConfiguration(applicationID: "com.example.test", stateDirectory: directory))
    }

    @Test func `the next process knows what a killed one has shown, until that is over`() throws {
        try self.with { configuration in
            let (one, two) = (
                DesktopNotificationPlace(server: ":1.7", id: 3), DesktopNotificationPlace(server: ":1.7", id: 4)
            )
            var places = OfferNotificationPlaces(configuration)
            #expect(places.places.isEmpty)
            places.shown("a", at: one, wanted: ["a", "b"])
            places.shown("b", at: two, wanted: ["a", "b"])
            #expect(OfferNotificationPlaces(configuration).places == ["a": one, "b": two])
            // What is not wanted any more was closed.
            places.shown("b", at: two, wanted: ["b"])
            #expect(OfferNotificationPlaces(configuration).places == ["b": two])
            places.shown("c", at: one, wanted: ["b"])
            #expect(OfferNotificationPlaces(configuration).places == ["b": two])
            // Another program has its own notifications.
            var other = configuration
            other.applicationID = "com.example.other"
            #expect(OfferNotificationPlaces(other).places.isEmpty)
            places.clear()
            #expect(OfferNotificationPlaces(configuration).places.isEmpty)
        }
    }
}
