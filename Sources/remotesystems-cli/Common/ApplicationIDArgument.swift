// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserActivities

extension String {
    /// Checks the value of `--application-id`.
    func checkApplicationID() throws {
        guard self.isName else { throw ValidationError("--application-id takes \(String.nameForm).") }
        guard !BuiltInApplication.isBuiltIn(self) else {
            throw ValidationError(
                "The application id \(self.printable) is that of a part of RemoteSystems. Use an id of your own."
            )
        }
    }
}
