// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The figures of activities that go from one process to another.
    package struct HandOff: Codable, Sendable {
        /// The times from an activity becoming current until the other system lists it.
        package var listed = Series(subject: "current to listed")
        /// The times from the choice until the other application has the content.
        package var continued = Series(subject: "continue to handler")
        /// A continuation stream in parts of 1 MiB.
        package var streamed = Series(subject: "continuation stream")
        /// A continuation stream of a file, which the receiver stores.
        package var files = Series(subject: "continuation stream, file")
        /// Messages of 1 MiB over TLS, in the same rounds.
        package var rawTLS = Series(subject: ContestantName.rawTLSStreamed.rawValue)
        /// Arrays of 1 MiB over TLS between tasks, in the same rounds.
        package var rawArrays = Series(subject: ContestantName.rawTLSArrays.rawValue)
        /// A file over TLS, which the receiver stores, in the same rounds.
        package var rawFiles = Series(subject: ContestantName.rawTLSFiles.rawValue)

        /// The figures of a list with the offers of many systems.
        package var crowd: Crowd?

        package struct Crowd: Codable, Sendable {
            package var offers: Int
            package var systems: Int
            /// The times from another activity becoming current until it is in the list.
            package var listed: Series
            /// The times of reading the list.
            package var list: Series

            package init(offers: Int, systems: Int) {
                self.offers = offers
                self.systems = systems
                self.listed = Series(subject: "current to listed, among \(offers) offers of \(systems) systems")
                self.list = Series(subject: "list of \(offers) offers")
            }
        }

        package init() {}

        package mutating func seal() {
            self.crowd?.listed.seal()
            self.crowd?.list.seal()
            self.listed.seal()
            self.continued.seal()
            self.streamed.seal()
            self.files.seal()
            self.rawTLS.seal()
            self.rawArrays.seal()
            self.rawFiles.seal()
        }
    }

    var handOffGoals: [Goal] {
        func milliseconds(_ series: Series?) -> Double? { series?.median(\.median).map { $0 / 1e6 } }
        return [
            Goal("activity current to listed", .atMost, 20, "ms", figure: milliseconds(self.handOff?.listed)),
            Goal("continue to handler", .atMost, 10, "ms", figure: milliseconds(self.handOff?.continued)),
            Goal(
                "current to listed, among 1000",
                .atMost,
                100,
                "ms",
                figure: milliseconds(self.handOff?.crowd?.listed)
            ),
            Goal("list of 1000 offers", .atMost, 100, "ms", figure: milliseconds(self.handOff?.crowd?.list)),
            Goal(
                "continuation stream to a raw TLS stream",
                .atLeast,
                0.95,
                "×",
                figure: self.handOff.flatMap { $0.streamed.ratio(to: $0.rawTLS, \.perSecond) }
            ),
            Goal(
                "continuation stream to raw TLS with arrays",
                .atLeast,
                0.95,
                "×",
                figure: self.handOff.flatMap { $0.streamed.ratio(to: $0.rawArrays, \.perSecond) }
            ),
            Goal(
                "continuation stream, file to raw TLS with files",
                .atLeast,
                0.95,
                "×",
                figure: self.handOff.flatMap { $0.files.ratio(to: $0.rawFiles, \.perSecond) }
            ),
        ]
    }

    var handOffTable: Table {
        var table = Table(title: "Hand-off", header: ["", "median ms", "p99 ms"])
        let crowd = self.handOff?.crowd
        for series in [self.handOff?.listed, self.handOff?.continued, crowd?.listed, crowd?.list].compactMap(\.self) {
            table.append([
                series.subject, series.median(\.median).map { $0 / 1e6 }.formatted,
                (series.pooled?.p99).map { $0 / 1e6 }.formatted,
            ])
        }
        return table
    }

    var handOffStreamTable: Table {
        var table = Table(title: "Hand-off: streams", header: ["", "MiB/s", "to raw TLS"])
        guard let handOff = self.handOff else { return table }
        for series in [handOff.rawTLS, handOff.rawArrays, handOff.streamed, handOff.rawFiles, handOff.files] {
            table.append([
                series.subject, series.median(\.perSecond).formatted,
                series.ratio(to: handOff.rawTLS, \.perSecond).formatted,
            ])
        }
        return table
    }
}
