// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// How a launcher interprets the statuses of responses.
@Suite struct LaunchStatusTests {
    private static func result(_ message: ValueSet) throws -> RemoteLaunchURIResult {
        RemoteLaunchURIResult(try Launch.launch.response(from: message))
    }

    @Test func `launch statuses have Rome's numbers (X-20)`() {
        let statuses: [RemoteLaunchURIStatus] = [
            .unknown, .success, .appUnavailable, .protocolUnavailable, .remoteSystemUnavailable, .valueSetTooLarge,
            .deniedByLocalSystem, .deniedByRemoteSystem,
        ]
        #expect(statuses.map(\.rawValue) == Array(0...7))
    }

    @Test(arguments: [8, 99, Int(Int32.max)])
    func `an unknown status is kept and described as unknown (X-20)`(number: Int) throws {
        let result = try Self.result([
            "Status": .integer(Int64(number)), "Text": "The screen is locked.", "Application": "test.player",
            "Retry": true,
        ])
        #expect(result.status.rawValue == number)
        #expect(result.applicationID == "test.player")
        #expect(result.opened == nil)
        let error = try #require(result.error)
        #expect(error.message.contains("status \(number), which this version does not know"), "\(error)")
        #expect(error.message.hasSuffix("It says: The screen is locked."), "\(error)")
        #expect(error.outcome == .unknown)
        #expect(error.canRetry)
        #expect(error.side == .remote)
        let thrown = #expect(throws: RemoteSystemError.self) { try result.get() }
        #expect(thrown?.outcome == .unknown)
    }

    @Test(arguments: [(0, false), (2, true), (3, true), (4, true), (5, true), (6, true), (7, true), (8, false)])
    func `only known statuses can state that nothing was opened (X-20)`(
        number: Int,
        isCertain: Bool
    ) throws {
        let reported = try Self.result(["Status": .integer(Int64(number))])
        #expect((reported.error?.outcome == .notExecuted) == isCertain)
        let silent = RemoteLaunchURIResult(status: RemoteLaunchURIStatus(rawValue: number))
        let thrown = #expect(throws: RemoteSystemError.self) { try silent.get() }
        #expect((thrown?.outcome == .notExecuted) == isCertain)
    }

    @Test func `after an unknown status no other application is tried, since the URI may be open (X-20, R-25)`() {
        #expect(!RemoteLaunchURIStatus(rawValue: 8).leavesRoomForFallback)
    }
}
