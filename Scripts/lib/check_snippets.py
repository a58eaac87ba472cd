#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks that every Swift code block of the products' catalogues is part of a compiled file: a snippet, a
sample, or a test of RemoteSystemsTesting."""

import pathlib
import re
import sys

PRODUCTS = [
    "RemoteSystems", "RemoteSystemsDesktop", "RemoteSystemsTesting", "RemoteSystemsTracing", "UserActivities",
    "UserNotifications", "UserNotificationsUI", "ValueSets",
]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = [root / "Snippets", root / "Samples", root / "Tests/RemoteSystemsTestingTests"]
    compiled = [path.read_text() for source in sources for path in sorted(source.rglob("*.swift")) if ".build" not in path.parts]
    failures = 0
    pages = [page for product in PRODUCTS for page in (root / f"Sources/{product}").glob("*.docc/*.md")]
    for page in sorted(pages):
        for block in re.findall(r"```swift\n(.*?)```", page.read_text(), re.S):
            if not any(block.strip() in text for text in compiled):
                print(f"{page.relative_to(root)}: not in Snippets/, Samples/ or Tests/RemoteSystemsTestingTests/: {block.strip().splitlines()[0]}")
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
