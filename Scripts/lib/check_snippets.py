#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks that the Swift code in RemoteSystems' catalogue is, line for line, part of a file in Snippets/, which SwiftPM compiles."""

import pathlib
import re
import sys


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    compiled = [path.read_text() for path in sorted((root / "Snippets").glob("*.swift"))]
    failures = 0
    for page in sorted((root / "Sources/RemoteSystems/RemoteSystems.docc").glob("*.md")):
        for block in re.findall(r"```swift\n(.*?)```", page.read_text(), re.S):
            if not any(block.strip() in text for text in compiled):
                print(f"{page.relative_to(root)}: not in Snippets/: {block.strip().splitlines()[0]}")
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
