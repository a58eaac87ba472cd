// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystems
import Synchronization
import Testing

/// URIs launched on another system, over loopback.
@Suite struct LaunchingTests {
    /// The requests to providers, with the ids of their applications.
    final class Asked: Sendable {
        private let asked = Mutex<[(application: String, request: LaunchURIRequest)]>([])
        var requests: [LaunchURIRequest] { self.asked.withLock { $0.map(\.request) } }
        var log: [String] { self.asked.withLock { $0.map { "\($0.application) \($0.request.uri)" } } }

        func provider(
            _ application: String = "test.host",
            schemes: [String] = ["player"],
            _ decide: @escaping @Sendable (LaunchURIRequest) async throws -> LaunchURIDecision = { _ in .opened }
        ) -> LaunchURIHandler {
            LaunchURIHandler(schemes: schemes) { request in
                self.asked.withLock { $0.append((application, request)) }
                return try await decide(request)
            }
        }
    }

    static func launch(
        _ uri: String,
        at host: RemoteSystemHost,
        _ loopbackSystem: LoopbackSystem,
        options: RemoteLauncherOptions = RemoteLauncherOptions(),
        inputData: ValueSet? = nil,
        timeout: Duration? = nil
    ) async throws -> RemoteLaunchURIResult {
        try await RemoteLauncher().launchURI(
            uri,
            with: RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: loopbackSystem.configuration("test.caller")
            ),
            options: options,
            inputData: inputData,
            timeout: timeout
        )
    }

    @Test func `a provider gets URI, options, input data and the verified caller (R-02, R-17, R-22, X-33, X-34)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            try await loopbackSystem.withHost(launching: asked.provider(schemes: ["Player"])) { host in
                let result = try await Self.launch(
                    "PLAYER:album/42",
                    at: host,
                    loopbackSystem,
                    options: RemoteLauncherOptions(
                        fallbackURI: "https://example.com/",
                        preferredApplicationIDs: ["test.host"]
                    ),
                    inputData: ["position": 12.5]
                )
                #expect(result.status == .success)
                #expect(result.opened == .uri)
                #expect(result.applicationID == "test.host")
                #expect(result.error == nil)
                let request = try #require(asked.requests.first)
                #expect(request.uri.description == "PLAYER:album/42")
                #expect(request.uri.scheme == "player")
                #expect(request.options.fallbackURI == "https://example.com/")
                #expect(request.options.preferredApplicationIDs == ["test.host"])
                #expect(request.inputData == ["position": 12.5])
                #expect(!request.isFallback)
                #expect(request.caller.isLocal)
                #expect(request.caller.claimedApplicationID == "test.caller")
                #expect(asked.requests.count == 1)
            }
        }
    }

    @Test func `a fallback is opened without the input data if nothing opens the URI (R-25)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            let provider = asked.provider(schemes: ["player", "https"]) {
                $0.isFallback ? .opened(by: "browser") : .unavailable("There is no such album.")
            }
            try await loopbackSystem.withHost(launching: provider) { host in
                let options = RemoteLauncherOptions(fallbackURI: "https://example.com/album")
                for uri in ["player:gone", "unknown:x"] {
                    let result = try await Self.launch(
                        uri,
                        at: host,
                        loopbackSystem,
                        options: options,
                        inputData: ["a": 1]
                    )
                    #expect(result.status == .success)
                    #expect(result.opened == .fallback)
                    #expect(result.applicationID == "browser")
                }
                #expect(
                    asked.log == [
                        "test.host player:gone", "test.host https://example.com/album",
                        "test.host https://example.com/album",
                    ]
                )
                #expect(asked.requests.filter(\.isFallback).allSatisfy { $0.inputData == nil })
            }
        }
    }

    @Test(arguments: [
        LaunchURIDecision.denied("Not at night."), .unknown("It hangs."),
    ])
    func `a fallback is not opened if the URI was denied, or may be open (R-25)`(decision: LaunchURIDecision)
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            let provider = asked.provider(schemes: ["player", "https"]) { _ in decision }
            try await loopbackSystem.withHost(launching: provider) { host in
                let result = try await Self.launch(
                    "player:x",
                    at: host,
                    loopbackSystem,
                    options: RemoteLauncherOptions(fallbackURI: "https://example.com/")
                )
                #expect(result.status != .success)
                #expect(asked.log == ["test.host player:x"])
            }
        }
    }

    @Test func `the preferred application, the host and a running one are asked in this order (R-18, R-25)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            let host = RemoteSystemHost.machineApplicationID
            let none: @Sendable (LaunchURIRequest) -> LaunchURIDecision = { _ in .unavailable("Not now.") }
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await loopbackSystem.withHost("test.a", launching: asked.provider("test.a", none)) { _ in
                try await loopbackSystem.withHost("test.b", launching: asked.provider("test.b", none)) { _ in
                    try await loopbackSystem.withHost(host, launching: asked.provider(host, none)) { _ in
                        let system = try await recorder.first { event -> RemoteSystem? in
                            switch event {
                            case .added(let system), .updated(let system):
                                system.applications.count == 3 ? system : nil
                            default: nil
                            }
                        }
                        #expect(system.application("test.a")?.uriSchemes == ["player"])
                        let result = try await RemoteLauncher().launchURI(
                            "player:x",
                            with: .system(system),
                            options: RemoteLauncherOptions(preferredApplicationIDs: ["test.b"])
                        )
                        #expect(result.status == .appUnavailable)
                        #expect(asked.log == ["test.b player:x", "\(host) player:x", "test.a player:x"])
                        let one = try await RemoteLauncher().launchURI(
                            "player:y",
                            with: .application(try #require(system.application("test.a")))
                        )
                        #expect(one.status == .appUnavailable)
                        #expect(asked.log.suffix(1) == ["test.a player:y"])
                    }
                }
            }
            await watcher.stop()
        }
    }

    @Test func `a launch that timed out is cancelled remotely and reported as unknown`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let cancelled = Mutex(false)
            let provider = LaunchURIHandler(schemes: ["player"]) { _ in
                do {
                    // Longer than the launch waits. Ended by cancellation.
                    try await Task.sleep(for: .seconds(60))
                } catch {
                    cancelled.withLock { $0 = true }
                    throw error
                }
                return .opened
            }
            try await loopbackSystem.withHost(launching: provider) { host in
                let result = try await Self.launch("player:x", at: host, loopbackSystem, timeout: .milliseconds(200))
                #expect(result.status == .unknown)
                #expect(result.error?.outcome == .unknown)
                #expect(result.error?.canRetry == true)
                try await until { cancelled.withLock { $0 } }
            }
        }
    }
}

// MARK: - Statuses

extension LaunchingTests {
    /// Each of Rome's eight statuses, produced for real.
    @Suite struct Statuses {
        @Test(arguments: [
            (LaunchURIDecision.opened, 1), (.unavailable("x"), 2), (.unsupported("x"), 3), (.denied("x"), 7),
            (.unknown("x"), 0),
        ])
        func `what a provider decides is the launcher's status (X-20, R-23)`(
            decision: LaunchURIDecision,
            status: Int
        ) async throws {
            try await LoopbackSystem.with { loopbackSystem in
                try await loopbackSystem.withHost(launching: Asked().provider { _ in decision }) { host in
                    let result = try await LaunchingTests.launch("player:x", at: host, loopbackSystem)
                    #expect(result.status.rawValue == status)
                    #expect(result.error?.side == (status == 1 ? nil : .remote))
                    #expect(result.error?.message == (status == 1 ? nil : "x"))
                    #expect(result.error?.outcome == (status == 1 ? nil : status == 0 ? .unknown : .notExecuted))
                }
            }
        }

        @Test func `0: a provider that fails may have opened the URI (X-20)`() async throws {
            struct Oops: Error {}
            try await LoopbackSystem.with { loopbackSystem in
                try await loopbackSystem.withHost(launching: Asked().provider { _ in throw Oops() }) { host in
                    let result = try await LaunchingTests.launch("player:x", at: host, loopbackSystem)
                    #expect(result.status == .unknown)
                    #expect(result.error?.outcome == .unknown)
                    #expect(result.error?.message.contains("Oops") == false)
                }
            }
        }

        @Test func `3: an application that opens no URIs, or none of the scheme (X-20)`() async throws {
            try await LoopbackSystem.with { loopbackSystem in
                for provider in [nil, Asked().provider(schemes: ["other"])] {
                    try await loopbackSystem.withHost(launching: provider) { host in
                        let result = try await LaunchingTests.launch("player:x", at: host, loopbackSystem)
                        #expect(result.status == .protocolUnavailable)
                        #expect(result.error?.outcome == .notExecuted)
                    }
                }
            }
        }

        @Test func `3: a service that opens no URIs at an address is reported with the target to use instead (X-20)`()
            async throws
        {
            try await LoopbackSystem.with { loopbackSystem in
                try await loopbackSystem.withHost(launching: nil) { host in
                    let result = try await LaunchingTests.launch("player:x", at: host, loopbackSystem)
                    #expect(result.status == .protocolUnavailable)
                    let message = result.error?.message ?? ""
                    #expect(message.contains("Launch to the port of an application that does"), "\(message)")
                    #expect(!message.contains("?"))
                }
            }
        }

        @Test func `4: an address without a listener (X-20)`() async throws {
            try await LoopbackSystem.with { loopbackSystem in
                let unused = try HeldPort()
                let result = try await RemoteLauncher().launchURI(
                    "player:x",
                    with: RemoteSystemConnectionRequest(
                        host: "127.0.0.1",
                        port: unused.number,
                        configuration: loopbackSystem.configuration("test.caller")
                    )
                )
                withExtendedLifetime(unused) {}
                #expect(result.status == .remoteSystemUnavailable)
                #expect(result.error?.side == .network)
                #expect(result.error?.canRetry == true)
            }
        }

        @Test func `5: input data over 64 KiB is not sent (X-20)`() async throws {
            try await LoopbackSystem.with { loopbackSystem in
                let asked = Asked()
                try await loopbackSystem.withHost(launching: asked.provider()) { host in
                    let many = String(repeating: "x", count: RemoteLauncher.maxInputBytes)
                    let result = try await LaunchingTests.launch(
                        "player:x",
                        at: host,
                        loopbackSystem,
                        inputData: ["a": .string(many)]
                    )
                    #expect(result.status == .valueSetTooLarge)
                    #expect(result.error?.side == .local)
                    let fits = try await LaunchingTests.launch(
                        "player:x",
                        at: host,
                        loopbackSystem,
                        inputData: ["a": .string(String(many.dropLast(16)))]
                    )
                    #expect(fits.status == .success)
                    #expect(asked.requests.count == 1)
                }
            }
        }

        @Test func `5: a host refuses input data over 64 KiB itself (X-20)`() async throws {
            try await LoopbackSystem.with { loopbackSystem in
                let asked = Asked()
                try await loopbackSystem.withHost(launching: asked.provider()) { host in
                    let many = String(repeating: "x", count: RemoteLauncher.maxInputBytes)
                    let response = try await loopbackSystem.raw(
                        ["Type": "launch", "Uri": "player:x", "Input": ["a": .string(many)]],
                        to: host
                    )
                    #expect(response.message["Status"] == 5)
                    #expect(asked.requests.isEmpty)
                }
            }
        }

        @Test func `6: this system does not trust the peer (X-20)`() async throws {
            try await LoopbackSystem.with { loopbackSystem in
                try await LoopbackSystem.with { stranger in
                    let asked = Asked()
                    try await stranger.withHost(launching: asked.provider()) { host in
                        let result = try await LaunchingTests.launch("player:x", at: host, loopbackSystem)
                        #expect(result.status == .deniedByLocalSystem)
                        #expect(asked.requests.isEmpty)
                    }
                }
            }
        }
    }

    @Test(arguments: ["--help", "player:a b", "player:\n", "", "player:%00"])
    func `an invalid URI is refused locally, and nothing is sent`(uri: String) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            try await loopbackSystem.withHost(launching: asked.provider()) { host in
                let error = await #expect(throws: RemoteSystemError.self) {
                    try await Self.launch(uri, at: host, loopbackSystem)
                }
                #expect(error?.code == .misuse)
                let fallback = await #expect(throws: RemoteSystemError.self) {
                    try await Self.launch(
                        "player:x",
                        at: host,
                        loopbackSystem,
                        options: RemoteLauncherOptions(fallbackURI: uri)
                    )
                }
                #expect(fallback?.code == .misuse)
                #expect(asked.requests.isEmpty)
            }
        }
    }

    static let malformed: [ValueSet] = [
        [:], ["Type": "open", "Uri": "player:x"], ["Type": "launch"], ["Type": "launch", "Uri": 1],
        ["Type": "launch", "Uri": "--help"], ["Type": "launch", "Uri": "player:a b"],
        ["Type": "launch", "Uri": "player:x", "Fallback": "file name"],
        ["Type": "launch", "Uri": "player:x", "Fallback": 1],
        ["Type": "launch", "Uri": "player:x", "Applications": "a"],
        ["Type": "launch", "Uri": "player:x", "Input": "a"],
    ]

    @Test(arguments: malformed)
    func `a malformed request never reaches the provider`(message: ValueSet) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let asked = Asked()
            try await loopbackSystem.withHost(launching: asked.provider()) { host in
                let response = try await loopbackSystem.raw(message, to: host)
                #expect(response.status == .failure)
                #expect(asked.requests.isEmpty)
            }
        }
    }

    @Test func `a host with invalid schemes does not start`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var options = RemoteSystemHost.Options()
            options.launchURIProvider = LaunchURIHandler(schemes: ["a b"]) { _ in .opened }
            let host = RemoteSystemHost(loopbackSystem.configuration("test.host"), services: [], options: options)
            let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
            #expect(error?.code == .misuse)
        }
    }
}

extension LoopbackSystem {
    /// Runs a host that opens URIs while `body` runs.
    fileprivate func withHost<Result>(
        _ application: String = "test.host",
        launching provider: LaunchURIHandler?,
        _ body: (RemoteSystemHost) async throws -> Result
    ) async throws -> Result {
        var options = RemoteSystemHost.Options()
        options.launchURIProvider = provider
        let host = RemoteSystemHost(self.configuration(application), services: [], options: options)
        return try await host.whileRunning(expectsSuccess: true) { try await body(host) }
    }

    /// Sends a message that no launcher would send.
    fileprivate func raw(_ message: ValueSet, to host: RemoteSystemHost) async throws -> AppServiceResponse {
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: try await host.port,
            configuration: self.configuration("test.caller")
        )
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: "remote-systems.launch", requestSchema: .full, responseSchema: .full)
        )
        let status = try await connection.open(request)
        #expect(status == .success)
        let response = try await connection.send(message)
        await connection.close()
        return response
    }
}
