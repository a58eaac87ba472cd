// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// An order of the driver to a worker: one JSON object per line on the worker's standard input.
enum Order: Codable, Sendable {
    /// Exchange messages on the worker's first connection and report all times.
    case exchange(Load, Limit)
    /// The same without reporting times: for warm-up and external measurements.
    case rehearse(Load, Limit)
    /// Open and close connections one after the other, and report the times to the first response.
    case open(Limit)
    /// Open so many more connections and keep them open.
    case hold(Int)

    /// Encode or decode repeatedly.
    case code(CoderName, CodingTask, Limit)
    /// Report the encoded size of the dictionary, in bytes.
    case size(CoderName, CodingTask.Dictionary)

    case startHost
    case stopHost
    case startWatcher
    /// Wait at most so many seconds until a system is added, and report the time.
    case awaitAdded(seconds: Double)
    case stopWatcher

    /// Create the systems with these numbers. They join the account of system 0.
    case createSystems(Range<Int>)
    /// Revoke a system of the account of system 0.
    case revokeSystem(Int)
    /// Start a host for each of these systems, advertised in this folder of the run's directory.
    case startHosts(Range<Int>, folder: String)
    /// Start a watcher for each of these systems, and report the time before the first start.
    case startWatchers(Range<Int>, folder: String)
    /// Wait at most so many seconds until each watcher lists so many systems, and report the time.
    case awaitListed(Int, seconds: Double)
    /// Report the connections and removals of all watchers together.
    case countWatched

    /// Run a system for hand-off, advertised in this folder.
    case startHandOff(Int, folder: String)
    /// List the offers of other systems from now on.
    case watchOffers
    /// Make an activity current whose stream sends so many MiB, in this form, and report its id and the time before.
    case offerActivity(megabytes: Int, StreamForm)
    /// Wait at most so many seconds until an activity is listed, and report the time.
    case awaitOffer(String, seconds: Double)
    /// Run so many applications on each of these systems, advertised in this folder. Each offers an activity.
    case startCrowd(Range<Int>, applications: Int, folder: String)
    /// Wait at most so many seconds until so many activities are listed, and report the time.
    case awaitOffers(Int, seconds: Double)
    /// List all offers, and report the time that it took.
    case listOffers
    /// Continue an activity, and report the time until its content or its stream had arrived.
    case continueActivity(String)

    /// Exchange so many messages on the worker's first connection, one in each interval, and report all times.
    case pace(count: Int, intervalNanoseconds: Int64)
    /// Start a host that is advertised in this folder and a watcher of it, and report the host's port, and as the
    /// address that at which announcements can be forged.
    case startVictim(folder: String)
    /// Wait at most so many seconds until the system with this name is added, and report the time.
    case awaitSystem(String, seconds: Double)
    /// Forget the forged announcements that were received.
    case dropForged
    /// Open the port for joining, and report it.
    case invite
    /// Close the port for joining.
    case endInviting
    /// Attack the server of a contestant at a port.
    case startAttack(AttackName, ContestantName, port: Int)
    /// Stop the attack.
    case stopAttack
}

/// How an application sends and receives the bytes of a continuation stream.
enum StreamForm: String, Codable, Sendable {
    /// Parts of 1 MiB, which both applications have in memory.
    case parts
    /// A file, which the receiver stores as a file.
    case file
}

/// The response of a worker: one JSON object per line on its standard output.
struct Response: Codable, Sendable {
    var measurement: Measurement?
    /// A size in bytes or a time in monotonic nanoseconds, depending on the order.
    var number: Int64?
    var address: String?
    /// Other processes that the worker started and that do part of its work.
    var companions: [Int32]?
    var watched: WatchedCounts?
    var failure: String?
}

/// The connections that watchers opened and failed to open, and the systems that they removed.
struct WatchedCounts: Codable, Sendable {
    var opened = 0
    var failed = 0
    var removed = 0
}
