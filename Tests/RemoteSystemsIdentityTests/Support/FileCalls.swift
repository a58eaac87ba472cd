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

private func check(_ call: String, _ succeeded: Bool) throws {
    guard succeeded else { throw SystemCallError(call) }
}
