// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The figures of watchers that list many systems.
    package struct Scale: Codable, Sendable {
        /// What was measured, as a phrase.
        package var subject: String
        /// The number of systems that each watcher lists.
        package var systems: Int
        package var watchers: Int
        /// The time from the start of the watchers until each of them lists all systems, in seconds.
        package var listingSeconds: Double
        /// The connections that the watchers have opened, and the attempts that failed.
        package var connections: Int
        package var failedAttempts: Int
        /// The private memory of the process of the watchers, in bytes. In a mesh, this process also runs hosts.
        package var watcherBytes: Double
        /// The growth of that memory since before the watchers started, for each connection, in bytes. In a mesh, half
        /// of the connections of a process are those of its hosts.
        package var watcherBytesPerConnection: Double
        /// The processor time of the process of the watchers that list everything, in percent of a core; nil if it was
        /// not measured.
        package var watcherIdlePercent: Double?
        package var watcherThreads: Int
        package var watcherDescriptors: Int
        /// The figures of the hosts, if they have processes of their own.
        package var hosts: Hosts?

        /// The figures of the processes of hosts.
        package struct Hosts: Codable, Sendable {
            package var count: Int
            package var processes: Int
            /// The private memory of one host with the process's share, in bytes, before it has connections.
            package var bytesPerHost: Double
            /// The growth of that memory by the watcher's connection, in bytes.
            package var bytesPerConnection: Double
            /// The processor time of one host with one idle connection, in percent of a core.
            package var idlePercentPerHost: Double

            package init(
                count: Int,
                processes: Int,
                bytesPerHost: Double,
                bytesPerConnection: Double,
                idlePercentPerHost: Double
            ) {
                self.count = count
                self.processes = processes
                self.bytesPerHost = bytesPerHost
                self.bytesPerConnection = bytesPerConnection
                self.idlePercentPerHost = idlePercentPerHost
            }
        }

        package var watcherMebibytes: Double { watcherBytes / 1_048_576 }

        package init(
            subject: String,
            systems: Int,
            watchers: Int,
            listingSeconds: Double,
            connections: Int,
            failedAttempts: Int,
            watcherBytes: Double,
            watcherBytesPerConnection: Double,
            watcherIdlePercent: Double?,
            watcherThreads: Int,
            watcherDescriptors: Int,
            hosts: Hosts?
        ) {
            self.subject = subject
            self.systems = systems
            self.watchers = watchers
            self.listingSeconds = listingSeconds
            self.connections = connections
            self.failedAttempts = failedAttempts
            self.watcherBytes = watcherBytes
            self.watcherBytesPerConnection = watcherBytesPerConnection
            self.watcherIdlePercent = watcherIdlePercent
            self.watcherThreads = watcherThreads
            self.watcherDescriptors = watcherDescriptors
            self.hosts = hosts
        }
    }

    var scaleTable: Table {
        var table = Table(
            title: "Many systems: the process of the watchers",
            header: ["", "listed in s", "opened", "failed", "MiB", "KiB/conn.", "idle % of a core", "threads", "files"]
        )
        for entry in scale {
            table.append([
                entry.subject, entry.listingSeconds.formatted,
                "\(entry.connections)", "\(entry.failedAttempts)",
                entry.watcherMebibytes.formatted, (entry.watcherBytesPerConnection / 1024).formatted,
                entry.watcherIdlePercent.formatted, "\(entry.watcherThreads)", "\(entry.watcherDescriptors)",
            ])
        }
        return table
    }

    var scaleHostTable: Table {
        var table = Table(
            title: "Many systems: the processes of the hosts",
            header: ["", "processes", "KiB/host", "KiB/conn.", "idle % of a core, each host"]
        )
        for entry in scale {
            guard let hosts = entry.hosts else { continue }
            table.append([
                entry.subject, "\(hosts.processes)",
                (hosts.bytesPerHost / 1024).formatted, (hosts.bytesPerConnection / 1024).formatted,
                hosts.idlePercentPerHost.formatted(decimals: 3),
            ])
        }
        return table
    }
}
