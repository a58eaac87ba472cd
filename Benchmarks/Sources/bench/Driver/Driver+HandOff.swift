// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

extension Driver {
    /// Measures hand-off from one process to another: until an activity is listed, until another system's handler has
    /// its content, and the rate of a continuation stream beside those of TLS streams.
    mutating func measureHandOff() {
        progress("hand-off")
        // Beside the systems of ``measureKnownSystem()``.
        let (origin, receiver) = (20_002, 20_003)
        do {
            try createSystems(origin..<(receiver + 1))
            let offering = try handOffWorker(origin)
            defer { offering.stop() }
            let continuing = try handOffWorker(receiver)
            defer { continuing.stop() }
            try continuing.order(.watchOffers)
            let raw = startControl(.rawTLSStreamed)
            defer { raw?.stop() }
            let rawArrays = startControl(.rawTLSArrays)
            defer { rawArrays?.stop() }
            let rawFiles = startControl(.rawTLSFiles)
            defer { rawFiles?.stop() }
            // Not measured: the first continuation, and the first exchange.
            _ = try handOver(megabytes: 0, from: offering, to: continuing)
            for form in [StreamForm.parts, .file] {
                _ = try handOver(megabytes: plan.handOffMegabytes, form, from: offering, to: continuing)
            }
            try raw?.caller.order(.rehearse(.bulk, plan.warmUp))
            // The same bytes as those of a continuation stream.
            let transfer = Limit(count: plan.handOffMegabytes, seconds: 60)
            for control in [rawArrays, rawFiles] { try control?.caller.order(.rehearse(.bulk, transfer)) }
            var figures = Report.HandOff()
            for _ in 0..<plan.handOffs {
                let (listed, continued) = try handOver(megabytes: 0, from: offering, to: continuing)
                figures.listed.append(listed)
                figures.continued.append(continued)
            }
            for _ in 0..<plan.rounds {
                let megabytes = plan.handOffMegabytes
                figures.streamed.append(try handOver(megabytes: megabytes, from: offering, to: continuing).continued)
                figures.rawTLS.append(try raw?.caller.order(.exchange(.bulk, plan.exchange)).measurement)
                figures.rawArrays.append(try rawArrays?.caller.order(.exchange(.bulk, transfer)).measurement)
                figures.rawFiles.append(try rawFiles?.caller.order(.exchange(.bulk, transfer)).measurement)
                figures.files.append(
                    try handOver(megabytes: megabytes, .file, from: offering, to: continuing).continued
                )
            }
            figures.crowd = try measureCrowd()
            figures.seal()
            report.handOff = figures
        } catch {
            note("hand-off", "measuring", error)
        }
    }

    /// Starts the processes of a control. If they do not start, the others are measured without it.
    private mutating func startControl(_ name: ContestantName) -> Pair? {
        do {
            return try Pair(name, credentials: credentials, directory: plan.directory)
        } catch {
            note(name.rawValue, "starting", error)
            return nil
        }
    }

    /// Measures a list of the offers of many systems.
    private func measureCrowd() throws -> Report.HandOff.Crowd {
        let systems = 20_100..<(20_100 + plan.crowdSystems)
        let count = plan.crowdSystems * plan.crowdApplications
        progress("\(count) offers of \(plan.crowdSystems) systems")
        // The last one lists.
        try createSystems(systems.lowerBound..<(systems.upperBound + 1))
        let crowd = try Worker(["hand-off"], setup: Setup(credentials: credentials, directory: plan.directory))
        defer { crowd.stop() }
        try crowd.order(
            .startCrowd(systems, applications: plan.crowdApplications, folder: "crowd"),
            within: 300
        )
        let listing = try handOffWorker(systems.upperBound, folder: "crowd")
        defer { listing.stop() }
        try listing.order(.watchOffers)
        try listing.order(.awaitOffers(count, seconds: 120), within: 130)
        var figures = Report.HandOff.Crowd(offers: count, systems: plan.crowdSystems)
        for _ in 0..<plan.handOffs {
            let offer = try crowd.order(.offerActivity(megabytes: 0, .parts))
            guard let began = offer.number, let id = offer.address,
                let end = try listing.order(.awaitOffer(id, seconds: 20)).number,
                let time = try listing.order(.listOffers).number
            else { throw BenchError("A worker did not report an offer or a list.") }
            figures.listed.append(Measurement(nanoseconds: [end - began], elapsedNanoseconds: max(end - began, 1)))
            figures.list.append(Measurement(nanoseconds: [time], elapsedNanoseconds: max(time, 1)))
        }
        return figures
    }

    private func handOffWorker(_ system: Int, folder: String = "handed-over") throws -> Worker {
        let worker = try Worker(["hand-off"], setup: Setup(credentials: credentials, directory: plan.directory))
        do {
            try worker.order(.startHandOff(system, folder: folder))
        } catch {
            worker.stop()
            throw error
        }
        return worker
    }

    private func handOver(
        megabytes: Int,
        _ form: StreamForm = .parts,
        from offering: Worker,
        to continuing: Worker
    ) throws -> (listed: Measurement, continued: Measurement) {
        let offer = try offering.order(.offerActivity(megabytes: megabytes, form))
        guard let began = offer.number, let id = offer.address,
            let end = try continuing.order(.awaitOffer(id, seconds: 20)).number,
            let continued = try continuing.order(.continueActivity(id)).measurement
        else { throw BenchError("A worker did not report an offer or a continuation.") }
        return (Measurement(nanoseconds: [end - began], elapsedNanoseconds: max(end - began, 1)), continued)
    }
}
