// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The systems that one watcher lists: those that match its filters.
///
/// A value type without I/O or a clock; times are arguments.
struct WatcherList {
    private let filters: [RemoteSystemFilter]
    private let ownSystem: SystemID
    private let origin: ApplicationContext
    /// The time at which the enumeration is complete at the latest; `nil` once it is complete.
    private(set) var enumerationEnds: ContinuousClock.Instant?
    private var listed: [SystemID: RemoteSystem] = [:]
    /// Available systems that the filters exclude.
    private(set) var excluded: [SystemID: RemoteSystem] = [:]

    /// Creates an empty list.
    ///
    /// - Parameters:
    ///   - origin: the application context with which connections to the listed systems are made.
    ///   - enumerationEnds: the time at which the enumeration is complete at the latest.
    init(
        filters: [RemoteSystemFilter],
        ownSystem: SystemID,
        origin: ApplicationContext,
        enumerationEnds: ContinuousClock.Instant
    ) {
        self.filters = filters
        self.ownSystem = ownSystem
        self.origin = origin
        self.enumerationEnds = enumerationEnds
    }

    /// Updates a system and returns the event that reports the change, if any.
    mutating func changed(_ system: ObservedSystem) -> RemoteSystemEvent? {
        let old = self.listed[system.id]
        let view = RemoteSystem(
            system,
            wanted: self.filters.wanted,
            ownSystem: self.ownSystem,
            origin: self.origin
        )
        let new = view.flatMap { self.filters.allow($0) ? $0 : nil }
        self.listed[system.id] = new
        self.excluded[system.id] = new == nil ? view : nil
        switch (old, new) {
        case (nil, let new?): return .added(new)
        case (let old?, nil): return .removed(old)
        case (let old?, let new?) where old != new: return .updated(new)
        default: return nil
        }
    }

    /// Completes the enumeration: every system that was found has described itself or has failed to respond.
    mutating func settled() -> RemoteSystemEvent? {
        self.enumerationEnds.take().map { _ in .enumerationCompleted }
    }

    mutating func tick(now: ContinuousClock.Instant) -> RemoteSystemEvent? {
        guard let end = self.enumerationEnds, end <= now else { return nil }
        return self.settled()
    }
}
