// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization
package import UserNotifications
internal import ValueSets

/// The locations that GeoClue measures, on the system bus
/// (<https://www.freedesktop.org/software/geoclue/docs/>).
package struct GeoClueLocations: LocationSource {
    /// The id under which GeoClue's configuration and the desktop's settings permit this program.
    private static let desktopID = "org.remotesystems.host"

    package init() {}

    package func locations(distance: Double) -> AsyncThrowingStream<NotificationLocation, any Error> {
        let (locations, feed) = AsyncThrowingStream.makeStream(
            of: NotificationLocation.self,
            // Only where the user is now matters.
            bufferingPolicy: .bufferingNewest(1)
        )
        let client = GeoClueClient(desktopID: Self.desktopID, distance: distance, feed)
        feed.onTermination = { _ in client.stop() }
        Task {
            await BlockingCalls.run { client.serve() }
        }
        return locations
    }
}

/// Why GeoClue measures no locations.
struct GeoClueError: Error, CustomStringConvertible {
    var description: String
}

/// A client of GeoClue. It ends with its connection to the bus.
private final class GeoClueClient: Sendable {
    typealias Feed = AsyncThrowingStream<NotificationLocation, any Error>.Continuation

    private static let service = "org.freedesktop.GeoClue2"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// `GCLUE_ACCURACY_LEVEL_EXACT`.
    private static let exact: UInt32 = 8
    private static let callTime = Duration.seconds(25)
    private static let limits = ValueSetLimits(depth: 4, keysPerDictionary: 32, items: 64, bytes: 16 << 10)

    private let desktopID: String
    private let distance: UInt32
    private let feed: Feed
    private let loop = BusLoop(.system)
    /// Whether GeoClue has ended, and not the connection to the bus.
    private let hasServiceEnded = Mutex(false)

    init(desktopID: String, distance: Double, _ feed: Feed) {
        self.desktopID = desktopID
        self.distance = UInt32(max(0, min(distance, 100_000)))
        self.feed = feed
    }

    func stop() { self.loop.stop() }

    /// Measures until the task ends, or GeoClue does.
    func serve() {
        do throws(MessageBus.Failure) {
            unsafe try self.loop.run { connection throws(MessageBus.Failure) in unsafe try self.begin(connection) }
            let name = self.hasServiceEnded.withLock { $0 } ? "GeoClue" : "The connection to the system bus"
            self.feed.finish(throwing: GeoClueError(description: "\(name) has ended."))
        } catch {
            let isMissing = error.name == "org.freedesktop.DBus.Error.ServiceUnknown"
            let text = isMissing ? "GeoClue is not installed" : error.message
            self.feed.finish(throwing: GeoClueError(description: "\(text)."))
        }
    }

    private func begin(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        let path = unsafe try self.newClient(connection)
        let rules = [
            "type='signal',sender='\(Self.service)',path='\(path)',member='LocationUpdated'",
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'",
        ]
        unsafe try self.loop.subscribe(rules, connection) { [self] signal in
            switch signal.member {
            case "LocationUpdated": if signal.paths.count == 2 { self.read(signal.paths[1]) }
            // Its clients have ended with it.
            case "NameOwnerChanged":
                self.hasServiceEnded.withLock { $0 = true }
                self.loop.stop()
            default: break
            }
        }
        let settings: [(String, MessageBus.Argument)] = [
            ("DesktopId", .variantString(self.desktopID)), ("DistanceThreshold", .variantUInt32(self.distance)),
            ("RequestedAccuracyLevel", .variantUInt32(Self.exact)),
        ]
        for (name, value) in settings {
            unsafe try self.call(
                connection,
                path,
                Self.properties,
                "Set",
                [.string("\(Self.service).Client"), .string(name), value]
            )
        }
        unsafe try self.call(connection, path, "\(Self.service).Client", "Start", [])
    }

    private func newClient(_ connection: OpaquePointer) throws(MessageBus.Failure) -> String {
        var path: String?
        let manager = "/org/freedesktop/GeoClue2/Manager"
        unsafe try self.call(connection, manager, "\(Self.service).Manager", "CreateClient", []) { response in
            unsafe path = BusSignal.paths(of: response).first
        }
        guard let path else { throw MessageBus.Failure(message: "GeoClue has created no client") }
        return path
    }

    private func call(
        _ connection: OpaquePointer,
        _ path: String,
        _ interface: String,
        _ method: String,
        _ arguments: [MessageBus.Argument],
        read: (OpaquePointer) -> Void = { _ in }
    ) throws(MessageBus.Failure) {
        let call = MessageBus.Call(
            destination: Self.service,
            path: path,
            interface: interface,
            method: method,
            arguments: arguments
        )
        unsafe try MessageBus.send(call, over: connection, timeout: Self.callTime, self.loop.cancellable) {
            response,
            _ in
            unsafe read(response)
        }
    }

    /// Reads a location that was measured.
    private func read(_ path: String) {
        let call = MessageBus.Call(
            destination: Self.service,
            path: path,
            interface: Self.properties,
            method: "GetAll",
            arguments: [.string("\(Self.service).Location")]
        )
        self.loop.post { [self] connection in
            unsafe self.loop.send(call, over: connection.pointer, timeout: Self.callTime) { result in
                guard case .success(let response) = result, let location = Self.location(response) else { return }
                self.feed.yield(location)
            }
        }
    }

    private static func location(_ response: BusResponse) -> NotificationLocation? {
        guard let first = unsafe g_variant_get_child_value(response.pointer, 0) else { return nil }
        defer { unsafe g_variant_unref(first) }
        guard let set = unsafe try? ValueSet(gVariant: first, limits: Self.limits),
            let latitude = set["Latitude"]?.double, let longitude = set["Longitude"]?.double,
            let accuracy = set["Accuracy"]?.double
        else { return nil }
        return NotificationLocation(latitude: latitude, longitude: longitude, accuracy: accuracy)
    }
}
