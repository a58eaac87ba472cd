// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystems
internal import ServiceLifecycle

/// Offers hand-off to programs in any language on the session bus, while there is one (`Docs/dbus-activities.md`).
package struct ActivityBus: Service {
    private let configuration: RemoteSystemsConfiguration
    private let registry: ApplicationRegistry
    private let webpages: WebpageResolver?

    /// - Parameters:
    ///   - configuration: that of the host daemon.
    ///   - registry: vouches for the programs on the bus.
    ///   - webpages: finds the applications that show web pages. Defaults to `nil`: only the browser does.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        _ registry: ApplicationRegistry,
        webpages: WebpageResolver? = nil
    ) {
        self.configuration = configuration
        self.registry = registry
        self.webpages = webpages
    }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        try await BusLoop.keepServing("Hand-off is not on the session bus", self.configuration.logger) {
            await self.serve()
        }
    }

    private func serve() async -> Result<Void, MessageBus.Failure> {
        // The server limits the calls.
        let (events, feed) = AsyncStream.makeStream(of: ActivityBusServer.Event.self)
        let server = ActivityBusServer(feed)
        let programs = ActivityBusPrograms(self.configuration, self.registry, server, self.webpages)
        let result = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await Self.follow(events, programs, server) }
                let result = await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try server.run() } }
                feed.finish()
                group.cancelAll()
                return result
            }
        } onCancel: {
            server.stop()
        }
        await programs.leaveAll()
        return result
    }

    private static func follow(
        _ events: AsyncStream<ActivityBusServer.Event>,
        _ programs: ActivityBusPrograms,
        _ server: ActivityBusServer
    ) async {
        await withDiscardingTaskGroup { group in
            for await event in events {
                switch event {
                case .left(let program): await programs.left(program)
                case .call(let call, let sender, let invocation):
                    group.addTask {
                        do throws(ActivityBusError) {
                            invocation.respond(try await programs.respond(to: call, of: sender))
                        } catch {
                            invocation.fail(error)
                        }
                        server.handled(sender)
                    }
                }
            }
        }
    }
}
