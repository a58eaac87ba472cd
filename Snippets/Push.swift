// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization

struct Reading: Codable {
    var celsius: Double
}

// The service's side.
// snippet.service
final class Readings: AppServiceProvider {
    private let callers = Mutex<[ObjectIdentifier: Task<Void, any Error>]>([:])

    func respond(to request: AppServiceRequest) -> ValueSet { [:] }

    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
        let task = Task {
            while true {
                let reading = Reading(celsius: .random(in: 20...21))
                let response = try await connection.send(ValueSetEncoder().encode(reading))
                print("taken:", response.status == .success)
                try await Task.sleep(for: .seconds(1))
            }
        }
        self.callers.withLock { $0[ObjectIdentifier(connection)] = task }
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        self.callers.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }?.cancel()
    }
}

let temperature = AppService(
    "com.example.temperature",
    options: .init(pushRequestSchema: AllowedValueSchema(decoding: Reading.self)),
    provider: Readings()
)
// snippet.end

// The caller's side, as a sequence.
// snippet.reading
func show(_ thermometer: RemoteSystemApplication) async throws {
    try await thermometer.withAppService("com.example.temperature") { connection, requests in
        for try await request in requests {
            let reading = try request.message(as: Reading.self)
            print(reading.celsius)
        }
    }
}
// snippet.end

// The caller's side, over losses.
// snippet.longLived
func showForever(_ thermometer: RemoteSystemApplication) async throws {
    let connection = LongLivedConnection(
        to: AppServiceDescription(name: "com.example.temperature"),
        RemoteSystemConnectionRequest(application: thermometer)
    )
    let requests = connection.requests
    try connection.start()
    for try await request in requests {
        let reading = try request.message(as: Reading.self)
        print(reading.celsius)
    }
}
// snippet.end

// The caller's side, with a response of its own.
// snippet.handler
struct Question: Codable {
    var text: String
}

struct Decision: Codable {
    var isAllowed: Bool
}

func guardDoor(_ door: RemoteSystemApplication) async throws {
    let handler = AppServiceConnection.requestHandler { (question: Question, request) -> Decision in
        print(request.caller.systemID.short, "asks:", question.text)
        return Decision(isAllowed: true)
    }
    try await door.withAppService("com.example.door", onRequest: handler) { connection in
        _ = try await connection.waitUntilClosed()
    }
}
// snippet.end
