// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

// A file that goes from a service to its caller over a stream.
// snippet.offer
let photos = AppService("com.example.photos") { request in
    let offer = try request.connection.offerStream()
    Task {
        let stream = try await offer.opened()
        try await stream.send(contentsOfFile: "/srv/photos/17.jpeg")
        try await stream.finish()
        try await stream.waitUntilFinished()
    }
    return ["Photo": offer.ticket]
}
// snippet.end

// snippet.open
func fetchPhoto(over connection: AppServiceConnection) async throws {
    let response = try await connection.send(["Photo": 17])
    let stream = try await connection.openStream(response.message["Photo"])
    try await stream.receive(intoFile: "17.jpeg")
    try await stream.finish()
}
// snippet.end

let host = RemoteSystemHost(application: "com.example.camera", services: [photos])
try await host.run()
