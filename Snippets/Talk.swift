// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

// Swift's shape: scoped and throwing.
// snippet.scoped
struct Volume: Codable {
    var volume: Double
}

func turnDown(_ player: RemoteSystemApplication) async throws -> Double {
    try await player.withAppService("com.example.volume") { connection in
        try await connection.send(Volume(volume: 0.1), as: Volume.self).volume
    }
}
// snippet.end

// A connection that comes back.
// snippet.longLived
func keepTalking(to player: RemoteSystemApplication) async throws {
    let connection = LongLivedConnection(
        to: AppServiceDescription(name: "com.example.volume"),
        RemoteSystemConnectionRequest(application: player)
    )
    connection.onStateChanged { print($0) }
    try connection.start()
    let response = try await connection.send(["Volume": 0.3], retry: .idempotent)
    print(response.status)
    await connection.close()
}
// snippet.end

// Project Rome's shape: statuses.
// snippet.statuses
func ask(_ player: RemoteSystemApplication) async throws {
    let connection = AppServiceConnection(
        to: AppServiceDescription(name: "com.example.volume", applicationID: "com.example.player")
    )
    connection.onClosed { print("closed:", $0) }
    guard try await connection.open(RemoteSystemConnectionRequest(application: player)) == .success else {
        print(connection.openError?.message ?? "not opened")
        return
    }
    let response = try await connection.send(["Volume": 0.3])
    switch response.status {
    case .success: print(response.message["Volume"]?.double ?? "?")
    case .unknown: print("no response arrived; the request may have been executed")
    default: print(response.error?.message ?? "\(response.status)")
    }
    await connection.close()
}
// snippet.end

// A single message.
// snippet.stateless
func mute(_ player: RemoteSystemApplication) async throws -> Bool {
    let volume = AppServiceDescription(name: "com.example.volume")
    let response = try await AppServiceConnection.sendStateless(
        ["Volume": 0.0],
        to: volume,
        request: RemoteSystemConnectionRequest(application: player)
    )
    return response.status == .success
}
// snippet.end

// Calling a caller back.
// snippet.callBack
func remember(_ request: AppServiceRequest) throws -> String {
    guard let token = request.caller.connectionToken else { throw AppServiceFailure("Say which application you are.") }
    return token
}

func notify(_ token: String, _ configuration: RemoteSystemsConfiguration) async throws {
    let request = try RemoteSystemConnectionRequest(connectionToken: token, configuration: configuration)
    _ = try await AppServiceConnection.sendStateless(
        ["Ready": true],
        to: AppServiceDescription(name: "com.example.ready"),
        request: request
    )
}
// snippet.end
