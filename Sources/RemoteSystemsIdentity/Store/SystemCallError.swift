// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A failed system call, kept as the cause of an ``IdentityError``.
struct SystemCallError: Error, CustomStringConvertible {
    var call: String
    var number: Int32

    /// Reads `errno`, so call it directly after the failed system call.
    init(_ call: String) {
        self.call = call
        self.number = errno
    }

    var reason: String { unsafe String(cString: strerror(self.number)) }
    var description: String { "\(self.call): \(self.reason) (\(self.number))" }
}

extension IdentityError {
    /// The error for a failed system call, with matching advice.
    ///
    /// - Parameter intent: What was attempted, in the form "be read".
    static func failed(_ cause: SystemCallError, to intent: String, path: String) -> IdentityError {
        let start = "\(path) cannot \(intent): \(cause.reason)."
        return switch cause.number {
        case ENOSPC, EDQUOT:
            IdentityError(
                .diskFull,
                "\(start) This file was not changed. Free some space there and try again.",
                path: path,
                cause: cause
            )
        case EROFS:
            IdentityError(
                .notAllowed,
                "\(start) If its disk is failing, 'dmesg' shows the reason. Make it writable and try again.",
                path: path,
                cause: cause
            )
        case EACCES, EPERM:
            IdentityError(
                .notAllowed,
                "\(start) Give this user access, or set REMOTE_SYSTEMS_STATE to a directory of its own.",
                path: path,
                cause: cause
            )
        case EISDIR:
            IdentityError(.notAPlainFile, "\(start) It is a directory: name a file.", path: path, cause: cause)
        case ENOTDIR:
            IdentityError(
                .notAPlainFile,
                "\(start) A part of that path is not a directory: name a directory that exists or can be created.",
                path: path,
                cause: cause
            )
        case ELOOP:
            IdentityError(
                .notAPlainFile,
                "\(start) Keys are not read through symbolic links: put the file or directory itself there.",
                path: path,
                cause: cause
            )
        case ENOENT:
            IdentityError(.fileMissing, "\(start) Check the name.", path: path, cause: cause)
        case EEXIST:
            IdentityError(
                .fileExists,
                "\(start) It was not overwritten: choose another name, or move it away first.",
                path: path,
                cause: cause
            )
        default:
            IdentityError(.inputOutput, "\(start) Trying again may help.", path: path, cause: cause)
        }
    }
}
