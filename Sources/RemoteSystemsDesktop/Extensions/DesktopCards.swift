// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
package import UserNotifications

/// The content extensions that the manifests of applications name, each with the program that shows its view.
package struct DesktopCards: CardPrograms {
    private static let windowProgram = "remotesystems-card"

    private let starter: ExtensionStarter
    private let window: String

    /// - Parameter window: the path of the program that shows views; `nil` for the one beside this program.
    package init(_ starter: ExtensionStarter, window: String? = nil) {
        self.starter = starter
        self.window = window ?? Self.besideThisProgram
    }

    private static var besideThisProgram: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return "\(own.split(separator: "/").dropLast().map { "/\($0)" }.joined())/\(Self.windowProgram)"
    }

    package func problem(_ application: String, _ category: String) -> String? {
        guard let content = self.starter.registry.contentExtension(of: application, category) else {
            return "no manifest of \(application) has a content extension for the category '\(category)'."
        }
        let environment = self.starter.registry.programEnvironment
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else {
            return "the host daemon has no display (DISPLAY, WAYLAND_DISPLAY)."
        }
        if let problem = content.exec.first.flatMap(ProgramFile.problem(with:)) {
            return "its extension cannot be run: \(problem)"
        }
        return ProgramFile.problem(with: self.window)
    }

    package func open(_ application: String, _ category: String) async throws(NotificationError) -> OpenedCard {
        guard let content = self.starter.registry.contentExtension(of: application, category) else {
            throw NotificationError(.notShown, "\(application) has no content extension for \(category).")
        }
        let program = try await self.starter.start(content.exec, of: application, .card)
        let window: any ExtensionProgram
        do throws(NotificationError) {
            window = try await self.starter.start([self.window], of: application, .card)
        } catch {
            _ = await program.end()
            throw error
        }
        return OpenedCard(
            extension: program,
            window: window,
            hidesDefaultContent: content.hidesDefaultContent,
            initialRatio: content.initialRatio
        )
    }

    package func stop() async { await self.starter.stop() }
}
