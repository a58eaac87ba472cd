// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The order in which applications are asked to open a URI and its fallback.
///
/// A step is performed only when it is certain that the previous one has opened nothing. A pure value, computed from
/// what a watcher knows.
struct LaunchPlan {
    struct Step {
        var application: RemoteSystemApplication
        /// Which URI the application is asked to open.
        var opens: RemoteLaunchURIResult.Opened
        var isGivenFallback = false
    }

    private(set) var steps: [Step]

    /// - Parameters:
    ///   - uri: the URI's scheme.
    ///   - fallback: the fallback's scheme.
    ///   - isLimited: whether only the preferred applications may open the URI. Any application may open the fallback.
    init(
        uri: String,
        fallback: String?,
        preferred: [String],
        isLimited: Bool = false,
        applications: [RemoteSystemApplication]
    ) {
        // The host daemon knows applications that are not listed, and checks the preferred ones itself.
        let allowed =
            isLimited
            ? applications.filter { preferred.contains($0.id) || $0.id == RemoteSystemHost.machineApplicationID }
            : applications
        self.steps = Self.candidates(for: uri, preferred: preferred, among: allowed).map {
            Step(application: $0, opens: .uri)
        }
        guard let fallback else { return }
        var rest = Self.candidates(for: fallback, preferred: preferred, among: applications)[...]
        // Saves a round trip in the usual case, in which one application opens both.
        if let last = self.steps.indices.last, let first = rest.first, self.steps[last].application.id == first.id {
            self.steps[last].isGivenFallback = true
            rest.removeFirst()
        }
        self.steps += rest.map { Step(application: $0, opens: .fallback) }
    }

    /// Returns the applications to ask for a scheme, in this order:
    ///
    /// 1. the preferred applications that open the scheme, in their order,
    /// 2. the host daemon, if it opens the scheme,
    /// 3. a running application that opens the scheme, or else one that has to be started,
    /// 4. the host daemon in any case. It comes last because its denial is final, and must not precede an application
    ///    that would open the URI.
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
