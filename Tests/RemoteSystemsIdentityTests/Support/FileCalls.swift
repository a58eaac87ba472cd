// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import RemoteSystemsIdentity

// Foundation has no call for some of these operations. In others it would follow links or replace files.

// Uses the product's code: if Foundation is imported, too, the compiler assigns C's `stat` either to Foundation or to
// Glibc, and refuses its members to a file that imports the other.
func mode(_ path: String) -> mode_t { FileStatus(path: path)?.permissions ?? 0 }

/// Writes in place, so that the file keeps its owner and mode.
func write(_ text: String, to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { throw SystemCallError("open") }
    defer { close(file) }
    let bytes = Array(text.utf8)
    try check("write", unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) } == bytes.count)
}

func remove(_ path: String) throws { try check("unlink", unsafe unlink(path) == 0) }
func move(_ path: String, to newPath: String) throws { try check("rename", unsafe rename(path, newPath) == 0) }
func link(_ path: String, at newPath: String) throws { try check("symlink", unsafe symlink(path, newPath) == 0) }
func setMode(_ mode: mode_t, of path: String) throws { try check("chmod", unsafe chmod(path, mode) == 0) }
func giveAway(_ path: String, to user: uid_t) throws { try check("chown", unsafe chown(path, user, user) == 0) }
func makePipe(_ path: String) throws { try check("mkfifo", unsafe mkfifo(path, 0o600) == 0) }
func makeDirectory(_ path: String) throws { try check("mkdir", unsafe mkdir(path, 0o700) == 0) }
func stretch(_ path: String, to size: Int) throws { try check("truncate", unsafe truncate(path, size) == 0) }

/// The names that files get by being renamed in `directory` while `body` runs, in order (inotify(7)).
func renames(in directory: String, _ body: () throws -> Void) throws -> [String] {
    let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
    try check("inotify_init1", descriptor >= 0)
    defer { close(descriptor) }
    try check("inotify_add_watch", unsafe inotify_add_watch(descriptor, directory, UInt32(IN_MOVED_TO)) >= 0)
    try body()
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
    try check("read", count >= 0)
    var events = bytes.prefix(count)
    var names: [String] = []
    while events.count >= 16 {
        // Watch, mask, cookie and the length of the name, of 4 bytes each. The name is padded with zeros.
        let length = events.prefix(16).suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        events = events.dropFirst(16)
        names.append(String(decoding: events.prefix(length).prefix { $0 != 0 }, as: UTF8.self))
        events = events.dropFirst(length)
    }
    return names
}

private func check(_ call: String, _ succeeded: Bool) throws {
    guard succeeded else { throw SystemCallError(call) }
}
