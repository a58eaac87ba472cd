// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whom to ask to open what, in which order; each one only when what the one before was asked for is certain not to be
/// open. Pure: made from what a watcher knows.
struct LaunchPlan {
    struct Step {
        var application: RemoteSystemApplication
        /// What it is asked to open, and, with it, whether it is given the fallback too.
        var opens: RemoteLaunchURIResult.Opened
        var isGivenFallback = false
    }

    private(set) var steps: [Step]

    /// - Parameters:
    ///   - uri: The URI's scheme.
    ///   - fallback: The fallback's scheme.
    ///   - isLimited: Whether no other application than the preferred ones may open the URI. The fallback may be opened by any.
    init(
        uri: String,
        fallback: String?,
        preferred: [String],
        isLimited: Bool = false,
        applications: [RemoteSystemApplication]
    ) {
        // The one that speaks for the machine knows applications that are not listed, and looks for the preferred ones itself.
        let allowed =
            isLimited
            ? applications.filter { preferred.contains($0.id) || $0.id == RemoteSystemHost.machineApplicationID }
            : applications
        self.steps = Self.candidates(for: uri, preferred: preferred, among: allowed).map {
            Step(application: $0, opens: .uri)
        }
        guard let fallback else { return }
        var rest = Self.candidates(for: fallback, preferred: preferred, among: applications)[...]
        // Saves a round trip in the usual case, where one opens both.
        if let last = self.steps.indices.last, let first = rest.first, self.steps[last].application.id == first.id {
            self.steps[last].isGivenFallback = true
            rest.removeFirst()
        }
        self.steps += rest.map { Step(application: $0, opens: .fallback) }
    }

    /// Those that were asked for and take the scheme, in that order; then the one that speaks for the machine, if it opens the scheme;
    /// then one that runs and takes it, or else one that would have to be started; and last the one that speaks for the machine
    /// though it names the scheme not: what it denies is final, and not to be put before somebody who would open it.
    private static func candidates(
        for scheme: String,
        preferred: [String],
        among applications: [RemoteSystemApplication]
    ) -> [RemoteSystemApplication] {
        let taking = applications.filter { $0.uriSchemes.contains(scheme) }
        var candidates: [RemoteSystemApplication] = []
        func add(_ application: RemoteSystemApplication?) {
            guard let application, !candidates.contains(where: { $0.id == application.id }) else { return }
            candidates.append(application)
        }
        for id in preferred { add(taking.first { $0.id == id }) }
        add(taking.first { $0.id == RemoteSystemHost.machineApplicationID })
        let others = taking.filter { other in !candidates.contains { $0.id == other.id } }
        add(others.first { $0.isRunning } ?? others.first)
        add(applications.first { $0.id == RemoteSystemHost.machineApplicationID })
        return candidates
    }
}
