// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials

/// A program that makes small images of files, from the file that a package installs for it
/// (`/usr/share/thumbnailers/*.thumbnailer`, which file managers use).
struct Thumbnailer: Hashable {
    private static let group = "Thumbnailer Entry"

    /// `Exec`, split into arguments that still contain field codes.
    var exec: [String]
    /// `TryExec`: the program that is there if the thumbnailer is installed; `nil` if none is named.
    var neededProgram: String?
    /// `MimeType`, in lower case.
    var mediaTypes: Set<String>

    /// Reads the text of such a file; `nil` if it lacks a key, or is damaged.
    init?(_ text: String) {
        guard let file = unsafe g_key_file_new() else { return nil }
        defer { unsafe g_key_file_unref(file) }
        guard unsafe g_key_file_load_from_data(file, text, gsize(text.utf8.count), G_KEY_FILE_NONE, nil) != 0 else {
            return nil
        }
        func value(_ key: String) -> String? {
            guard let text = unsafe g_key_file_get_string(file, Self.group, key, nil) else { return nil }
            defer { unsafe g_free(text) }
            return unsafe String(cString: text)
        }
        guard let exec = value("Exec").flatMap(DesktopEntries.split), let types = value("MimeType") else { return nil }
        self.exec = exec
        self.neededProgram = value("TryExec").flatMap { $0.isEmpty ? nil : $0 }
        self.mediaTypes = Set(types.lowercased().split(separator: ";").map(String.init))
    }

    /// The program and its arguments for a file.
    ///
    /// The paths are inserted after the line was split, so nothing parses them.
    ///
    /// - Returns: `nil` if the line names no program, has an unknown field code, does not read the file or does not
    ///   write the result, and if a path would become part of a command.
    func arguments(_ path: String, to result: String, pixels: Int) -> [String]? {
        guard let program = self.exec.first, !program.isEmpty, !program.contains("%") else { return nil }
        let script = ExecLine.scriptIndex(self.exec)
        var arguments = [program]
        var (isRead, isWritten) = (false, false)
        for (index, part) in self.exec.enumerated().dropFirst() {
            var holdsPath = false
            let argument = ExecLine.expanded(part) { code in
                switch code {
                case "s": return "\(pixels)"
                case "i":
                    (isRead, holdsPath) = (true, true)
                    return path
                case "u":
                    (isRead, holdsPath) = (true, true)
                    return URL(filePath: path, directoryHint: .notDirectory).absoluteString
                case "o":
                    (isWritten, holdsPath) = (true, true)
                    return result
                default: return nil
                }
            }
            guard let argument else { return nil }
            if holdsPath {
                guard index != script, part.allSatisfy(ExecLine.isPlain) else { return nil }
            }
            arguments.append(argument)
        }
        return isRead && isWritten ? arguments : nil
    }
}

/// The thumbnailers of this system.
struct Thumbnailers {
    private let directories: [String]
    /// Where programs are.
    private let path: [String]

    /// - Parameter environment: that of this process.
    init(environment: [String: String]) {
        self.directories = ApplicationRegistry.dataDirectories(environment).map { $0 + "/thumbnailers" }
        self.path = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    }

    /// The command of the first thumbnailer for a format; `nil` if there is none. The user's come before those of the
    /// system, and hide those with the same name.
    ///
    /// Reads files. Must not be called on Swift's thread pool.
    func command(_ path: String, _ mediaType: String, to result: String, pixels: Int) -> [String]? {
        var seen: Set<String> = []
        for directory in self.directories {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            for name in names.sorted() where name.hasSuffix(".thumbnailer") && seen.insert(name).inserted {
                // A file that another user can change is not used, since it names a program.
                guard let file = try? ConfigurationFile(path: "\(directory)/\(name)"),
                    let thumbnailer = Thumbnailer(String(decoding: file.bytes, as: UTF8.self)),
                    thumbnailer.mediaTypes.contains(mediaType), self.isInstalled(thumbnailer),
                    let command = thumbnailer.arguments(path, to: result, pixels: pixels)
                else { continue }
                return command
            }
        }
        return nil
    }

    private func isInstalled(_ thumbnailer: Thumbnailer) -> Bool {
        [thumbnailer.neededProgram, thumbnailer.exec.first].compactMap(\.self).allSatisfy { program in
            let places = program.contains("/") ? [program] : self.path.map { "\($0)/\(program)" }
            return places.contains { $0.hasPrefix("/") && ProgramFile.problem(with: $0) == nil }
        }
    }
}
