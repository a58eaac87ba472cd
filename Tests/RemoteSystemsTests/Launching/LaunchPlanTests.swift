// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Which applications a launcher tries, in which order (R-18, R-25, X-33).
@Suite struct LaunchPlanTests {
    static func application(_ id: String, _ schemes: [String] = [], isRunning: Bool = true) throws
        -> RemoteSystemApplication
    {
        RemoteSystemApplication(
            SystemDescription.Application(id: id, displayName: id, uriSchemes: schemes),
            isRunning: isRunning,
            on: try #require(SystemID(bytes: [UInt8](repeating: 2, count: 32))),
            endpoints: [],
            origin: ApplicationContext(RemoteSystemsConfiguration(applicationID: "test"))
        )
    }

    static func steps(
        _ uri: String,
        fallback: String? = nil,
        preferred: [String] = [],
        _ applications: [RemoteSystemApplication]
    ) -> [String] {
        LaunchPlan(uri: uri, fallback: fallback, preferred: preferred, applications: applications).steps.map {
            "\($0.application.id) \($0.opens)\($0.isGivenFallback ? "+fallback" : "")"
        }
    }

    static let host = RemoteSystemHost.machineApplicationID

    @Test func `preferred applications come first, then the host or running applications that take the scheme`()
        throws
    {
        let all = [
            try Self.application("a", ["player"]), try Self.application("b", ["player"]),
            try Self.application("c", ["player"], isRunning: false), try Self.application("d", ["http"]),
            try Self.application(Self.host, ["http"]),
        ]
        #expect(Self.steps("player", all) == ["a uri", "\(Self.host) uri"])
        #expect(Self.steps("http", all) == ["\(Self.host) uri", "d uri"])
        #expect(
            Self.steps("player", preferred: ["c", "gone", "d", "b", "c"], all)
                == ["c uri", "b uri", "a uri", "\(Self.host) uri"]
        )
        #expect(Self.steps("other", all) == ["\(Self.host) uri"])
    }

    @Test func `a limited launch asks only preferred applications and the host, but any application for the fallback`()
        throws
    {
        let all = [
            try Self.application("a", ["player", "http"]), try Self.application("b", ["player"]),
            try Self.application("c", ["http"]),
        ]
        func steps(_ preferred: [String], _ applications: [RemoteSystemApplication]) -> [String] {
            LaunchPlan(
                uri: "player",
                fallback: "http",
                preferred: preferred,
                isLimited: true,
                applications: applications
            )
            .steps.map { "\($0.application.id) \($0.opens)" }
        }
        let host = try Self.application(Self.host)
        #expect(steps(["missing"], all) == ["a fallback"])
        #expect(steps(["b"], all) == ["b uri", "a fallback"])
        #expect(
            steps(["missing"], all + [host])
                == ["\(Self.host) uri", "a fallback", "\(Self.host) fallback"]
        )
    }

    @Test func `an installed application is started if it is preferred, or if no running one takes the scheme`() throws
    {
        let all = [try Self.application("c", ["player"], isRunning: false)]
        let running = all + [try Self.application("d", ["player"])]
        #expect(Self.steps("player", all) == ["c uri"])
        #expect(Self.steps("player", running) == ["d uri"])
        #expect(Self.steps("player", preferred: ["c"], all) == ["c uri"])
    }

    @Test func `the fallback comes after every attempt at the URI, in one request where one opens both`() throws {
        let host = try Self.application(Self.host, ["https"])
        let player = try Self.application("a", ["player"])
        let browser = try Self.application("b", ["https"])
        #expect(Self.steps("player", fallback: "https", [host]) == ["\(Self.host) uri+fallback"])
        #expect(
            Self.steps("player", fallback: "https", preferred: ["a"], [player, browser, host])
                == ["a uri", "\(Self.host) uri+fallback", "b fallback"]
        )
        #expect(Self.steps("player", fallback: "https", [player, browser]) == ["a uri", "b fallback"])
        #expect(Self.steps("player", fallback: "https", [browser]) == ["b fallback"])
    }
}
