// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A circle on the earth, for notifications that are delivered when the user enters or leaves it.
public struct NotificationRegion: Sendable, Hashable {
    /// The latitude of the circle's centre, in degrees. Valid range: -90 to 90.
    public var latitude: Double
    /// The longitude of the circle's centre, in degrees. Valid range: -180 to 180.
    public var longitude: Double
    /// The radius in metres. Valid range: 10 to 100 000. Only systems with a satellite receiver notice a radius below
    /// 100 m.
    public var radius: Double
    /// Whether the notification is delivered when the user enters the region. Defaults to `true`.
    public var notifiesOnEntry: Bool
    /// Whether the notification is delivered when the user leaves the region. Defaults to `false`.
    public var notifiesOnExit: Bool

    /// Creates a region. A value outside its range is an error when the notification is scheduled.
    ///
    /// - Parameters:
    ///   - latitude: The latitude of the circle's centre, in degrees. Valid range: -90 to 90.
    ///   - longitude: The longitude of the circle's centre, in degrees. Valid range: -180 to 180.
    ///   - radius: The radius in metres. Valid range: 10 to 100 000.
    ///   - notifiesOnEntry: Whether the notification is delivered on entry. Defaults to `true`.
    ///   - notifiesOnExit: Whether the notification is delivered on exit. Defaults to `false`.
    public init(
        latitude: Double,
        longitude: Double,
        radius: Double,
        notifiesOnEntry: Bool = true,
        notifiesOnExit: Bool = false
    ) {
        (self.latitude, self.longitude, self.radius) = (latitude, longitude, radius)
        (self.notifiesOnEntry, self.notifiesOnExit) = (notifiesOnEntry, notifiesOnExit)
    }

    func validate() throws(NotificationError) {
        let ranges = [
            ("latitude", self.latitude, -90.0...90.0), ("longitude", self.longitude, -180...180),
            ("radius", self.radius, 10...100_000),
        ]
        for (field, value, range) in ranges where !range.contains(value) {
            throw NotificationError(
                .triggerInvalid,
                "The \(field) must be from \(Int(range.lowerBound)) to \(Int(range.upperBound)).",
                field: field
            )
        }
        guard self.notifiesOnEntry || self.notifiesOnExit else {
            throw NotificationError(
                .triggerInvalid,
                "A region must notify on entry, on exit or both.",
                field: "notifiesOnEntry"
            )
        }
    }

    /// Whether the user is inside by a location that was measured.
    ///
    /// Near the boundary the state stays, so that an inaccurate location does not deliver a notification again and
    /// again: the user has left only beyond the accuracy and a tenth of the radius, at least 20 m.
    ///
    /// - Parameter before: the state before; `nil` if it is not known.
    /// - Returns: `nil` if the location says nothing.
    func contains(_ location: NotificationLocation, before: Bool?) -> Bool? {
        let distance = location.distance(latitude: self.latitude, longitude: self.longitude)
        // One that is less accurate than the region is large could be anywhere, unless it is far away.
        guard location.accuracy <= max(self.radius, 100) else {
            return distance - location.accuracy > self.radius + max(self.radius / 10, 20) ? false : before
        }
        guard before == true else { return distance <= self.radius }
        return distance <= self.radius + max(location.accuracy, self.radius / 10, 20)
    }
}

/// Where the user's system is, as it was measured.
package struct NotificationLocation: Sendable, Hashable {
    package var latitude: Double
    package var longitude: Double
    /// The radius within which it is, in metres.
    package var accuracy: Double

    /// - Returns: `nil` for numbers that are no place.
    package init?(latitude: Double, longitude: Double, accuracy: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude), accuracy >= 0, accuracy.isFinite else {
            return nil
        }
        (self.latitude, self.longitude, self.accuracy) = (latitude, longitude, accuracy)
    }

    /// The mean radius of the earth, in metres.
    private static let earthRadius = 6_371_008.8

    /// The distance on the surface of a sphere, by the haversine formula, in metres.
    func distance(latitude: Double, longitude: Double) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let (one, other) = (radians(self.latitude), radians(latitude))
        let across = sin(radians(latitude - self.latitude) / 2)
        let along = sin(radians(longitude - self.longitude) / 2)
        let root = across * across + cos(one) * cos(other) * along * along
        return 2 * Self.earthRadius * asin(min(1, root.squareRoot()))
    }
}
