// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems activities browser`.
struct ActivitiesBrowserCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "browser",
        abstract: "Hand over the page of a web browser, for its extension.",
        usage: "remotesystems activities browser --install | --uninstall [<options>]",
        discussion: """
            The browser starts this command and talks to it (native messaging). --install writes the files by which \
            the browsers of this user find it; --loopback, --interface and --state-directory then apply whenever a \
            browser starts it. Then add the extension to the browser, as its README describes.
            """
    )

    enum Browser: String, ExpressibleByArgument, CaseIterable {
        case chromium, chrome, firefox

        var files: BrowserFiles.Browser {
            switch self {
            case .chromium: .chromium
            case .chrome: .chrome
            case .firefox: .firefox
            }
        }
    }

    @Flag(help: "Write the files for the browsers of this user, or for the one that --browser names.")
    var install = false

    @Flag(help: "Remove these files.")
    var uninstall = false

    @Flag(help: "With --install and --uninstall: only print what would be done.")
    var dryRun = false

    @Option(help: "The browser.")
    var browser: Browser?

    @Option(
        help: ArgumentHelp(
            "With --install: the absolute path of remotesystems. Defaults to this program.",
            valueName: "file"
        )
    )
    var program: String?

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("What the browser adds.", visibility: .hidden))
    var caller: [String] = []

    func validate() throws {
        guard !self.install || !self.uninstall else {
            throw ValidationError("--install and --uninstall cannot be combined.")
        }
        guard self.program?.hasPrefix("/") ?? true else { throw ValidationError("--program takes an absolute path.") }
        guard self.install || self.uninstall || self.browser != nil else {
            throw ValidationError("A browser starts this command. Use --install to set it up.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        if self.install || self.uninstall { return try self.setUp(output) }
        let configuration = RemoteSystemsConfiguration(
            "browser",
            self.network,
            self.state,
            logger: self.common.logger()
        )
        let browser = WebBrowser(configuration, browser: self.browser?.rawValue ?? "")
        _ = try await untilInterrupted { try await browser.run() }
        return true
    }

    // MARK: Installing

    private func setUp(_ output: Output) throws -> Bool {
        let environment = ProcessInfo.processInfo.environment
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        guard let home = absolute("HOME") else { throw Failure("misuse", "HOME is not set.") }
        let configuration = absolute("XDG_CONFIG_HOME") ?? "\(home)/.config"
        let data = absolute("XDG_DATA_HOME") ?? "\(home)/.local/share"
        let program = try self.program ?? HostInstallCommand.ownPath()
        var isChanged = false
        for browser in self.browser.map({ [$0] }) ?? Browser.allCases {
            let script = "\(data)/remote-systems/browsers/\(browser.rawValue)"
            let manifest = BrowserFiles.manifestPath(browser.files, home: home, configuration: configuration)
            let files = BrowserFiles(browser.files, program: program, arguments: self.passedOn)
            for (path, text) in [(script, files.script), (manifest, files.manifest(script: script))] {
                guard self.install || FileManager.default.fileExists(atPath: path) else { continue }
                isChanged = true
                try self.apply(path, text, isProgram: path == script, output)
            }
        }
        if !isChanged { output.note("There is nothing to remove.") }
        return isChanged
    }

    private func apply(_ path: String, _ text: String, isProgram: Bool, _ output: Output) throws {
        let verb = self.install ? (done: "wrote", planned: "write") : (done: "removed", planned: "remove")
        if !self.dryRun {
            if self.install {
                try UnitFile.write(text, to: path, permissions: isProgram ? 0o755 : 0o644)
            } else {
                try UnitFile.remove(path)
            }
        }
        try output.json(
            UnitOutput(
                event: self.dryRun ? "would-\(verb.planned)" : verb.done,
                file: path,
                text: self.install ? text : nil
            )
        )
        try output.line(self.dryRun ? "would \(verb.planned) \(path)" : "\(verb.done) \(path)")
    }

    /// The options that the browser's program gets.
    private var passedOn: [String] {
        (self.network.loopback ? ["--loopback"] : [])
            + self.network.interfaces.flatMap { ["--interface", $0] }
            + (self.state.directory.map { ["--state-directory", $0] } ?? [])
    }
}
