// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

func play(_ album: Int, on livingRoom: RemoteSystem) async throws {
    let result = try await RemoteLauncher().launchURI(
        "player:album/\(album)",
        with: .system(livingRoom),
        options: RemoteLauncherOptions(fallbackURI: "https://example.com/album/\(album)"),
        inputData: ["Position": 12.5]
    )
    if let error = result.error { print(result.status, error.message, error.canRetry) }
}

func host(show: @escaping @Sendable (LaunchURI) async -> Bool) -> RemoteSystemHost {
    var options = RemoteSystemHost.Options()
    options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { request in
        await show(request.uri) ? .opened : .unavailable("There is no such album here.")
    }
    return RemoteSystemHost(
        RemoteSystemsConfiguration(applicationID: "com.example.player"),
        services: [],
        options: options
    )
}
