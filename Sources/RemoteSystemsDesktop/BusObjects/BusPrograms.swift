// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A call of a program on the bus.
protocol BusCall: Sendable {
    init(_ method: String, _ arguments: BusArguments) throws(BusCallError)

    /// Whether a method is for registered programs only, so that the arguments of others are not read.
    static func needsRegistration(_ method: String) -> Bool
}

/// Responds to the programs that call an interface of the host daemon.
protocol BusPrograms: Actor {
    associatedtype Call: BusCall

    func isRegistered(_ sender: String) -> Bool

    /// Returns the response to a call. ``BusCallError/init(of:)`` has the errors that are passed to the program.
    func perform(_ call: Call, _ sender: String) async throws -> [MessageBus.Argument]

    /// A program has left the bus.
    func left(_ sender: String) async

    /// The bus has ended.
    func leaveAll() async
}

extension BusPrograms {
    /// Begins to perform a call. Calls begin in the order in which they came: a later call of a program does not
    /// overtake an earlier one.
    ///
    /// - Returns: the task, which begins on this actor behind those that were started before.
    fileprivate func start(
        _ method: String,
        _ arguments: BusArguments,
        of sender: String
    ) -> Task<Result<[MessageBus.Argument], BusCallError>, Never> {
        Task {
            do throws(BusCallError) {
                return .success(try await self.respond(to: method, arguments, of: sender))
            } catch {
                return .failure(error)
            }
        }
    }

    private func respond(
        to method: String,
        _ arguments: BusArguments,
        of sender: String
    ) async throws(BusCallError) -> [MessageBus.Argument] {
        do {
            if Call.needsRegistration(method), !self.isRegistered(sender) { throw BusCallError.notRegistered }
            let call = try Call(method, arguments)
            return try await self.perform(call, sender)
        } catch {
            throw BusCallError(of: error)
        }
    }
}

extension BusObjectServer {
    /// Serves on one connection to the bus, until that ends or the task is cancelled.
    static func serve(
        _ interface: BusInterface,
        _ makePrograms: (BusObjectServer) -> some BusPrograms
    ) async -> Result<Void, MessageBus.Failure> {
        // The server limits the calls.
        let (events, feed) = AsyncStream.makeStream(of: Event.self)
        let server = BusObjectServer(interface, feed)
        let programs = makePrograms(server)
        let result = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await server.follow(events, programs) }
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

    private func follow(_ events: AsyncStream<Event>, _ programs: some BusPrograms) async {
        await withDiscardingTaskGroup { group in
            for await event in events {
                switch event {
                case .left(let program): await programs.left(program)
                case .call(let method, let arguments, let sender, let invocation):
                    let work = await programs.start(method, arguments, of: sender)
                    group.addTask {
                        let result = await withTaskCancellationHandler {
                            await work.value
                        } onCancel: {
                            work.cancel()
                        }
                        switch result {
                        case .success(let values): invocation.respond(values)
                        case .failure(let error): invocation.fail(error)
                        }
                        self.handled(sender)
                    }
                }
            }
        }
    }
}
