// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

// A host in a program without other services.
// snippet.embed
let host = RemoteSystemHost(
    application: "com.example.player",
    services: [
        AppService("com.example.volume") { request in
            guard let volume = request.message["Volume"]?.double, (0...1).contains(volume) else {
                throw AppServiceFailure("Volume is a number from 0 to 1.")
            }
            return ["Volume": .double(volume), "SetBy": .string(request.caller.systemID.short)]
        }
    ]
)
try await host.run()
// snippet.end
