// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// Looks up installed desktop applications with GIO: first the user's choices (`mimeapps.list`), then the desktop
/// entries.
///
/// The functions read files. They must not be called on Swift's thread pool.
enum DesktopEntries {
    /// Returns the entry with an id; `nil` if it does not exist or its program is not installed.
    static func entry(id: String) -> DesktopEntry? {
        guard let info = unsafe g_desktop_app_info_new(id) else { return nil }
        let owned = unsafe GObjectReference(info)
        return unsafe owned.with { unsafe Self.entry($0) }
    }

    /// Returns the default handler of a URI scheme; `nil` if there is none.
    static func defaultHandler(for scheme: String) -> DesktopEntry? {
        guard let info = unsafe g_app_info_get_default_for_uri_scheme(scheme) else { return nil }
        let owned = unsafe GObjectReference(info)
        return unsafe owned.with { unsafe Self.entry($0) }
    }

    /// Returns the default application for a media type; `nil` if there is none.
    static func defaultHandler(forMediaType type: String) -> DesktopEntry? {
        guard let info = unsafe g_app_info_get_default_for_type(type, 0) else { return nil }
        let owned = unsafe GObjectReference(info)
        return unsafe owned.with { unsafe Self.entry($0) }
    }

    /// Guesses the media type of an audio or video file from its name; `nil` if the name suggests neither.
    ///
    /// Takes a guess that GIO calls uncertain, too: the ending `.ogg` is that of several types, all of audio or video.
    static func mediaType(ofFileNamed name: String) -> String? {
        guard let type = unsafe g_content_type_guess(name, nil, 0, nil) else { return nil }
        defer { unsafe g_free(type) }
        guard let mediaType = unsafe g_content_type_get_mime_type(type) else { return nil }
        defer { unsafe g_free(mediaType) }
        let text = unsafe String(cString: mediaType)
        return ["audio/", "video/"].contains(where: text.hasPrefix) ? text : nil
    }

    /// Returns all handlers of a URI scheme.
    static func handlers(for scheme: String) -> [DesktopEntry] {
        guard let list = unsafe g_app_info_get_all_for_type("x-scheme-handler/\(scheme)") else { return [] }
        defer { unsafe g_list_free(list) }
        var entries: [DesktopEntry] = []
        var node: UnsafeMutablePointer<GList>? = unsafe list
        while let current = unsafe node {
            if let info = unsafe current.pointee.data {
                let owned = unsafe GObjectReference(OpaquePointer(info))
                if let entry = unsafe owned.with({ unsafe Self.entry($0) }) { entries.append(entry) }
            }
            unsafe node = unsafe current.pointee.next
        }
        return entries
    }

    private static func entry(_ info: OpaquePointer) -> DesktopEntry? {
        guard let id = unsafe g_app_info_get_id(info).map({ unsafe String(cString: $0) }) else { return nil }
        return DesktopEntry(
            id: id,
            name: unsafe g_app_info_get_name(info).map { unsafe String(cString: $0) } ?? id,
            exec: unsafe Self.string(info, "Exec").flatMap(Self.split),
            isDBusActivatable: unsafe g_desktop_app_info_get_boolean(info, "DBusActivatable") != 0,
            needsTerminal: unsafe g_desktop_app_info_get_boolean(info, "Terminal") != 0,
            needsDisplay: unsafe Self.string(info, "X-RemoteSystems-NeedsDisplay") != "false",
            directory: unsafe Self.string(info, "Path").flatMap { $0.isEmpty ? nil : $0 },
            icon: unsafe Self.string(info, "Icon"),
            file: unsafe g_desktop_app_info_get_filename(info).map { unsafe String(cString: $0) }
        )
    }

    private static func string(_ info: OpaquePointer, _ key: String) -> String? {
        guard let text = unsafe g_desktop_app_info_get_string(info, key) else { return nil }
        defer { unsafe g_free(text) }
        return unsafe String(cString: text)
    }

    /// Splits a line by a shell's quoting rules, as GIO does. Runs and expands nothing.
    static func split(_ line: String) -> [String]? {
        var count: gint = 0
        var vector: UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>?
        guard unsafe g_shell_parse_argv(line, &count, &vector, nil) != 0, let vector = unsafe vector else { return nil }
        defer { unsafe g_strfreev(vector) }
        return (0..<Int(count)).compactMap { index in unsafe vector[index].map { unsafe String(cString: $0) } }
    }
}
