// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What a launcher makes of the statuses that it is answered.
@Suite struct LaunchStatusTests {
    private static func result(_ message: ValueSet) -> RemoteLaunchURIResult {
        RemoteLaunchURIResult(Response(message: message))
    }

    @Test func `launch statuses have Rome's numbers (X-20)`() {
        let statuses: [RemoteLaunchURIStatus] = [
            .unknown, .success, .appUnavailable, .protocolUnavailable, .remoteSystemUnavailable, .valueSetTooLarge,
            .deniedByLocalSystem, .deniedByRemoteSystem,
        ]
        #expect(statuses.map(\.rawValue) == Array(0...7))
    }

    @Test(arguments: [8, 99, Int(Int32.max)])
    func `a status that this version does not know is kept, and said to be that (X-20)`(number: Int) throws {
        let result = Self.result([
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
    func `only statuses that are known to say so mean that nothing was opened (X-20)`(
        number: Int,
        isCertain: Bool
    ) throws {
        let reported = Self.result(["Status": .integer(Int64(number))])
        #expect((reported.error?.outcome == .notExecuted) == isCertain)
        let silent = RemoteLaunchURIResult(status: RemoteLaunchURIStatus(rawValue: number))
        let thrown = #expect(throws: RemoteSystemError.self) { try silent.get() }
        #expect((thrown?.outcome == .notExecuted) == isCertain)
    }

    @Test func `nothing else is tried after a status that is not known: it may be open (X-20, R-25)`() {
        #expect(!RemoteLaunchURIStatus(rawValue: 8).leavesRoomForFallback)
    }
}
