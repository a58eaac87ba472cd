# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Summarises the output of Swift Testing, which Scripts/test has written to a file.

>>> print(summary('''
... ◇ Test "it waits" started.
... MEASURED 5 ms✔ Test "it waits" passed after 1.5 seconds.
... ✔ Test counts() passed after 0.1 seconds.
... ✔ Test run with 2 tests in 1 suite passed after 1.6 seconds.
... ''').text)
2 passed, 0 failed

>>> print(summary('''
... ✘ Test "it waits" recorded an issue at A.swift:1:2: Expectation failed: false
... ↳ after a second
... ✘ Test "it waits" failed after 1.5 seconds with 1 issue.
... ➜ Test links() skipped: "no second user"
... SKIPPED: no network
... ✔ Test "a passed frame is skipped" with 2 test cases passed after 1.0 second.
... ✘ Test run with 3 tests in 1 suite failed after 1.6 seconds with 1 issue.
... REPEATED: an editor, 300 runs
... ''').text)
Skipped tests, with reasons:
  Test links() skipped: "no second user"
  no network
<BLANKLINE>
Repeated: an editor, 300 runs
<BLANKLINE>
Failed:
✘ Test "it waits" recorded an issue at A.swift:1:2: Expectation failed: false
↳ after a second
<BLANKLINE>
1 passed, 1 failed, 1 skipped

>>> summary('error: no such module')
"""

import re
import sys
from typing import NamedTuple

# A test prints its result once, in a line of its own or behind what it has printed without a line's end.
RESULT = re.compile(r'[^\w\s] Test (?:"|[^ ]+\().* (passed|failed) after [0-9.]+ seconds?')
RUN = re.compile(r"^[^\w\s]+\s+Test run with ([0-9]+) tests?")
ISSUE = re.compile(r"^[^\w\s]+\s+Test .* recorded an issue")
OTHER_TEST = re.compile(r"^[^\w\s]+\s+(?:Test|Suite) .* (?:started\.|passed after)")
# Swift Testing marks a disabled test itself. A test that is skipped at run time prints a line with a marker. The word
# 'skipped' in a test's name does not count.
SKIPPED = re.compile(r'(?:^|\W)SKIPPED: |^\W+(?:Test|Suite) .* skipped(?:: ".*"|\.)$')
REPEATED = re.compile(r"REPEATED: (.*)")

LINES_OF_AN_ISSUE = 5
LINES_OF_ISSUES = 60
LONGEST_LINE = 400


class Summary(NamedTuple):
    text: str
    total: int
    skipped: bool


def summary(log: str) -> Summary | None:
    """None if no run ended."""
    lines = log.splitlines()
    runs = [int(match[1]) for line in lines if (match := RUN.match(line))]
    if not runs:
        return None
    results = [match[1] for line in lines if not RUN.match(line) and (match := RESULT.search(line))]
    passed, failed, total = results.count("passed"), results.count("failed"), sum(runs)
    skipped = sorted({re.sub(r"^.*SKIPPED: |^\W+", "", line) for line in lines if SKIPPED.search(line)})
    repeated = [match[1] for line in lines if (match := REPEATED.search(line))]

    paragraphs = []
    if skipped:
        paragraphs.append("\n".join(["Skipped tests, with reasons:"] + [f"  {line}" for line in skipped]))
    if repeated:
        paragraphs.append("\n".join(f"Repeated: {line}" for line in repeated))
    # At the end, because truncated logs keep their end.
    if failures := issues(lines):
        paragraphs.append("\n".join(["Failed:"] + failures))
    counts = f"{passed} passed, {failed} failed"
    if total > passed + failed:
        counts += f", {total - passed - failed} skipped"
    paragraphs.append(counts)
    return Summary("\n\n".join(paragraphs), total, bool(skipped))


def issues(lines: list[str]) -> list[str]:
    """The first lines of each issue."""
    found = []
    left = 0
    for line in lines:
        if ISSUE.match(line):
            left = LINES_OF_AN_ISSUE
        elif OTHER_TEST.match(line) or RESULT.search(line):
            left = 0
        if left > 0:
            found.append(line[:LONGEST_LINE])
            left -= 1
    return found[:LINES_OF_ISSUES]


def main() -> int:
    """Prints the summary. Exit status: 0 no test was skipped, 1 no test ran, 2 tests were skipped."""
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        result = summary(file.read())
    if result is None:
        print("\nThe run ended without a summary: it crashed or ran no test.")
        return 1
    if result.total == 0:
        print("\nNo test matches the arguments.")
        return 1
    print(f"\n{result.text}")
    return 2 if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
