// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization
internal import ValueSets

/// One connection to the session bus on which media players are followed and controlled (MPRIS 2.2).
///
/// A player may change at any rate. Changes only mark it; its state is read when the owner asks for it.
final class PlayerBus: Sendable {
    /// A player on the bus.
    struct Player: Sendable, Hashable {
        /// The unique bus name.
        var id: String
        /// The well-known bus name, such as `org.mpris.MediaPlayer2.mpv`.
        var name: String
    }

    /// What a player can open (`org.mpris.MediaPlayer2`).
    struct Abilities: Sendable, Hashable {
        var identity: String?
        var schemes: Set<String> = []
        var mediaTypes: Set<String> = []
    }

    private struct State {
        /// The players by their well-known names.
        var players: [String: Player] = [:]
        var changed: Set<String> = []
    }

    static let prefix = "org.mpris.MediaPlayer2."
    /// playerctl's daemon states under this name what the last active player states.
    private static let mirror = "org.mpris.MediaPlayer2.playerctld"
    private static let path = "/org/mpris/MediaPlayer2"
    private static let playerInterface = "org.mpris.MediaPlayer2.Player"
    private static let trackListInterface = "org.mpris.MediaPlayer2.TrackList"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// The maximum number of names of players. A program can take any number.
    private static let maxNames = 64
    /// The time that a player has to respond.
    private static let timeout = Duration.seconds(1)
    /// The maximum size of what a player states.
    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 256, items: 2048, bytes: 256 << 10)
    /// The maximum size of a list of tracks. Some players list their whole library.
    private static let listLimits = ValueSetLimits(depth: 8, keysPerDictionary: 256, items: 20_000, bytes: 1 << 20)

    private let loop = BusLoop()
    private let state = Mutex(State())
    private let wakeUp: AsyncStream<Void>.Continuation
    /// A value after players have changed. Those that were not read are merged into one.
    let wakeUps: AsyncStream<Void>

    init() { (self.wakeUps, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func stop() { self.loop.stop() }

    /// Runs until the bus ends, or ``stop()``. Blocks.
    func run() throws(MessageBus.Failure) {
        defer { self.wakeUp.finish() }
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe try self.loop.subscribe(
                [
                    "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',"
                        + "arg0namespace='\(Self.prefix.dropLast())'",
                    "type='signal',interface='\(Self.properties)',member='PropertiesChanged',path='\(Self.path)'",
                ],
                connection
            ) { [weak self] in self?.received($0) }
            unsafe try self.readNames(connection)
            self.wakeUp.yield()
        }
    }

    // MARK: Following

    /// The players, and those that have changed since the last call.
    func take() -> (players: [Player], changed: Set<String>) {
        self.state.withLock { state in
            defer { state.changed = [] }
            return (state.players.values.sorted { $0.name < $1.name }, state.changed)
        }
    }

    var players: [Player] { self.state.withLock { $0.players.values.sorted { $0.name < $1.name } } }

    /// Marks a player as changed, although it has not reported anything.
    func mark(_ player: String) {
        self.state.withLock { _ = $0.changed.insert(player) }
        self.wakeUp.yield()
    }

    /// Whether a well-known name on the bus is that of a player.
    static func isPlayer(_ name: String) -> Bool { name.hasPrefix(Self.prefix) && name != Self.mirror }

    private func readNames(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        var names: [String] = []
        unsafe try MessageBus.send(.bus("ListNames", []), over: connection, self.loop.cancellable) { response, _ in
            guard let list = unsafe g_variant_get_child_value(response, 0) else { return }
            defer { unsafe g_variant_unref(list) }
            names = unsafe BusSignal.texts(of: list)
        }
        for name in names.filter(Self.isPlayer).sorted().prefix(Self.maxNames) {
            var owner = ""
            // It may have left the bus since.
            unsafe try? MessageBus.send(.bus("GetNameOwner", [.string(name)]), over: connection, self.loop.cancellable)
            { response, _ in owner = unsafe BusSignal.texts(of: response).first ?? "" }
            self.changed(owner: owner, of: name)
        }
    }

    private func received(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard signal.sender == "org.freedesktop.DBus", signal.texts.count == 3,
                Self.isPlayer(signal.texts[0])
            else { return }
            self.changed(owner: signal.texts[2], of: signal.texts[0])
        case (Self.properties, "PropertiesChanged"):
            let isPlayer = self.state.withLock { state in
                guard state.players.values.contains(where: { $0.id == signal.sender }) else { return false }
                state.changed.insert(signal.sender)
                return true
            }
            if isPlayer { self.wakeUp.yield() }
        default: break
        }
    }

    private func changed(owner: String, of name: String) {
        self.state.withLock { state in
            state.players[name] = nil
            guard !owner.isEmpty, state.players.count < Self.maxNames,
                // One program with several names is one player.
                !state.players.values.contains(where: { $0.id == owner })
            else { return }
            state.players[name] = Player(id: owner, name: name)
            state.changed.insert(owner)
        }
        self.wakeUp.yield()
    }

    // MARK: Asking

    /// What a player states; `nil` if it does not respond, or its response breaks a rule or is too large.
    func state(of player: String) async -> PlayerState? {
        await self.properties(of: player, Self.playerInterface).map(PlayerState.init)
    }

    func abilities(of player: String) async -> Abilities? {
        guard let properties = await self.properties(of: player, String(Self.prefix.dropLast())) else { return nil }
        func texts(_ key: String) -> Set<String> {
            Set((properties[key]?.array ?? []).compactMap { $0.string?.lowercased() })
        }
        return Abilities(
            identity: properties["Identity"]?.string.flatMap(PlayerState.text),
            schemes: texts("SupportedUriSchemes"),
            mediaTypes: texts("SupportedMimeTypes")
        )
    }

    /// The tracks around a track in a player's list; `nil` if the player has no list, or the track is not in it.
    ///
    /// Does not read `HasTrackList`: VLC 3.0 states `false`, and has the interface.
    func trackList(of player: String, around track: String) async -> PlayerTrackList? {
        await self.properties(of: player, Self.trackListInterface, limits: Self.listLimits).flatMap {
            PlayerTrackList($0, around: track)
        }
    }

    /// The addresses of tracks by their ids, as far as the player states them.
    ///
    /// - Parameter tracks: valid object paths.
    func addresses(of tracks: [String], in player: String) async -> [String: String] {
        guard !tracks.isEmpty else { return [:] }
        let call = MessageBus.Call(
            destination: player,
            path: Self.path,
            interface: Self.trackListInterface,
            method: "GetTracksMetadata",
            arguments: [.objectPaths(tracks)]
        )
        let response = try? await self.loop.call(call, within: Self.timeout) { response in
            unsafe Self.addresses(in: response.pointer, max: tracks.count)
        }
        return response ?? [:]
    }

    /// Reads the addresses in an `(aa{sv})`.
    private static func addresses(in response: OpaquePointer, max: Int) -> [String: String] {
        var addresses: [String: String] = [:]
        guard unsafe String(cString: g_variant_get_type_string(response)) == "(aa{sv})",
            let tracks = unsafe g_variant_get_child_value(response, 0)
        else { return addresses }
        defer { unsafe g_variant_unref(tracks) }
        let count = unsafe min(g_variant_n_children(tracks), gsize(max))
        for index in 0..<count {
            guard let track = unsafe g_variant_get_child_value(tracks, index) else { continue }
            defer { unsafe g_variant_unref(track) }
            guard let metadata = unsafe try? ValueSet(gVariant: track, limits: Self.limits),
                let id = PlayerState.trackID(in: metadata)
            else { continue }
            addresses[id] = PlayerState.address(in: metadata)
        }
        return addresses
    }

    private func properties(
        of player: String,
        _ interface: String,
        limits: ValueSetLimits = PlayerBus.limits
    ) async -> ValueSet? {
        let call = MessageBus.Call(
            destination: player,
            path: Self.path,
            interface: Self.properties,
            method: "GetAll",
            arguments: [.string(interface)]
        )
        let response = try? await self.loop.call(call, within: Self.timeout) { response -> ValueSet? in
            guard unsafe g_variant_n_children(response.pointer) == 1,
                let properties = unsafe g_variant_get_child_value(response.pointer, 0)
            else { return nil }
            defer { unsafe g_variant_unref(properties) }
            return unsafe try? ValueSet(gVariant: properties, limits: limits)
        }
        return response ?? nil
    }

    // MARK: Controlling

    func open(_ address: String, in player: String) async throws(MessageBus.Failure) {
        try await self.order("OpenUri", [.string(address)], player)
    }

    func play(_ player: String) async throws(MessageBus.Failure) { try await self.order("Play", [], player) }

    func pause(_ player: String) async throws(MessageBus.Failure) { try await self.order("Pause", [], player) }

    /// - Parameter second: from 0 to ``PlayerState/maxSeconds``.
    func seek(_ player: String, to second: Double, track: String) async throws(MessageBus.Failure) {
        try await self.order("SetPosition", [.objectPath(track), .int64(Int64(second * 1_000_000))], player)
    }

    func set(volume: Double, of player: String) async throws(MessageBus.Failure) {
        let values: [MessageBus.Argument] = [
            .string(Self.playerInterface), .string("Volume"), .variantDouble(volume),
        ]
        try await self.order("Set", values, player, interface: Self.properties)
    }

    /// Adds a track to a player's list, behind another one or ``PlayerTrackList/noTrack``. Does not play it.
    func add(_ address: String, behind track: String, in player: String) async throws(MessageBus.Failure) {
        let values: [MessageBus.Argument] = [.string(address), .objectPath(track), .bool(false)]
        try await self.order("AddTrack", values, player, interface: Self.trackListInterface)
    }

    private func order(
        _ method: String,
        _ arguments: [MessageBus.Argument],
        _ player: String,
        interface: String = PlayerBus.playerInterface
    ) async throws(MessageBus.Failure) {
        let call = MessageBus.Call(
            destination: player,
            path: Self.path,
            interface: interface,
            method: method,
            arguments: arguments
        )
        try await self.loop.call(call, within: Self.timeout) { _ in }
    }
}
