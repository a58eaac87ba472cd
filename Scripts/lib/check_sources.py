#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""The text checks of Scripts/soundness: licence headers, imports, banned patterns, words, line lengths, machine paths,
links."""

import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (
    "This source file is part of the RemoteSystems open source project",
    "SPDX-License-Identifier: Apache-2.0",
)
findings = []


def report(path, line, sentence):
    findings.append((str(path), line, sentence))


def git_files(*arguments):
    output = subprocess.run(
        ["git", "ls-files", "-z", *arguments], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()
    paths = (pathlib.PurePosixPath(name) for name in output.split("\0") if name)
    return {path for path in paths if (ROOT / path).is_file()}


def text(path):
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def without_licence(paths):
    """Returns the paths that .licenseignore excludes."""
    output = subprocess.run(
        ["git", "-c", "core.excludesFile=.licenseignore", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=ROOT,
        input="\0".join(map(str, paths)).encode(),
        capture_output=True,
    ).stdout.decode()
    return {pathlib.PurePosixPath(name) for name in output.split("\0") if name}


def check_header(path, lines):
    """Requires the two header lines at the top. Only a line that a tool requires to be first may precede them."""
    start = 1 if lines and lines[0].startswith(("#!", "// swift-tools-version", "# shellcheck shell=")) else 0
    found = lines[start : start + 2]
    marks = ("// ", "# ", ";; ", "-- ")
    if not any(found == [mark + sentence for sentence in HEADER] for mark in marks):
        report(path, start + 1, "the licence header of .license_header_template is missing, or not at the top")


def without_comments_and_strings(source):
    """Returns the code with unchanged line numbers. Interpolated code is removed with its string and not checked."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    pattern = r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*[\s\S]*?\*/'
    return re.sub(pattern, blank, source)


def import_table():
    table = {}
    path = ROOT / "Scripts/lib/imports.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].strip()
        if line:
            name, _, modules = line.partition(":")
            table[name.strip()] = set(modules.split())
    return table


IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?[ \t]+)*(?:(?:public|package|internal|fileprivate|private)[ \t]+)?"
    r"import[ \t]+(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor)[ \t]+)?(\w+)",
    re.MULTILINE,
)


def line_of(source, offset):
    return source.count("\n", 0, offset) + 1


def check_imports(path, code, table):
    target = path.parts[1]
    if target not in table:
        report(path, 1, f"Scripts/lib/imports.txt has no line for {target}")
        return
    machine = path.name.endswith("+StateMachine.swift")
    allowed = table["machines"] if machine else table["*"] | table[target]
    allowed = allowed & (table["*"] | table[target])
    for match in IMPORT.finditer(code):
        if match[1] not in allowed and match[1] != target:
            importer = "a state machine" if machine else target
            report(path, line_of(code, match.start()), f"{importer} may not import {match[1]} (Scripts/lib/imports.txt)")
    if machine:
        for match in re.finditer(r"\.now\b", code):
            report(path, line_of(code, match.start()), "a state machine has no clock: pass the time as an argument")


BANNED = [
    (re.compile(r"(?<![\w.`])fatalError\b"), "'fatalError' ends the user's process; throw, or return a failure"),
    (re.compile(r"\btry!"), "'try!' ends the user's process; handle the error"),
    (re.compile(r"(?<=[\w)\]])(?<!\btry)(?<!\bas)!(?=[.,)\]\[;\s]|$)(?!=)(?!\s*=)", re.MULTILINE), "a forced unwrap ends the user's process"),
    (re.compile(r"\bas!"), "'as!' ends the user's process; use 'as?'"),
]
PRINTING = re.compile(r"(?<![\w.`])(?<!func )(?:Swift\.)?(?:debugPrint|print|dump)\(")
UNCHECKED = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")


REQUIREMENT = re.compile(r"\b[RHBNX]-[0-9]{2}\b")


def check_swift(path, source, table):
    if path.parts[0] != "Sources":
        return
    for match in REQUIREMENT.finditer(source):
        report(path, line_of(source, match.start()), "requirement ids belong in tests and in the parity pages")
    code = without_comments_and_strings(source)
    lines = source.splitlines()
    check_imports(path, code, table)
    for pattern, sentence in BANNED:
        for match in pattern.finditer(code):
            report(path, line_of(code, match.start()), sentence)
    if path.parts[1] != "remotesystems-cli":
        for match in PRINTING.finditer(code):
            report(path, line_of(code, match.start()), "a library must not print; log or return the text")
    for match in UNCHECKED.finditer(code):
        line = line_of(code, match.start())
        if line < 2 or not lines[line - 2].lstrip().startswith("//"):
            report(path, line, f"'{match[0]}' needs its reason in a comment on the line above")


MAX_COLUMNS = 120
# A source file that needs more has more than one role.
MAX_LINES = 500
# Words that hide the subject of a sentence, or that the glossary replaces (Docs/glossary.md). A word may be part of a
# longer identifier or, in a code span, a user's name. The pattern does not match its own source text.
WORD = re.compile(
    r"(?<![\w`-])(?:who(?:ever|m|mever)|some(?:body)|no(?:body)|t(?:ell|ells|elling|old)|obe(?:y|ys|yed)|a(?:new)"
    r"|doub(?:t|ts|ted)|expe(?:l|ls|lled))(?![\w-])",
    re.IGNORECASE,
)


def check_words(path, source):
    for match in WORD.finditer(source):
        report(path, line_of(source, match.start()), f"'{match[0]}': name the subject, or use the glossary's word")


def check_length(path, lines):
    if path.parts[0] == "Sources" and len(lines) > MAX_LINES:
        report(path, MAX_LINES, f"{len(lines)} lines; at most {MAX_LINES} are allowed: split the file by role")


def check_columns(path, lines, exempt):
    for number, line in enumerate(lines, start=1):
        if len(line.rstrip()) > MAX_COLUMNS and not exempt(line):
            report(path, number, f"{len(line)} columns; at most {MAX_COLUMNS} are allowed")


# The pattern does not match its own source text.
MACHINE_PATH = re.compile(r"(?<![\w.~$}-])/(?:work|root|opt/swift|home/(?!USER\b)[a-z]+)(?=[/\s\"'`)]|$)", re.MULTILINE)


def check_machine_paths(path, source):
    for match in MACHINE_PATH.finditer(source):
        report(path, line_of(source, match.start()), f"a path of one machine: '{match[0]}'")


LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
FENCE = re.compile(r"^([ \t]*)(```|~~~)[\s\S]*?^[ \t]*\2[ \t]*$", re.MULTILINE)
CODE_SPAN = re.compile(r"(`+)(?:(?!\1)[^\n])+\1")


def is_one_link(line):
    return len(LINK.sub("link", line).split()) <= 2


def prose(source):
    return CODE_SPAN.sub(lambda m: " " * len(m[0]), FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source))


def anchors(source):
    """Returns the ids that GitHub assigns to headings."""
    seen = {}
    found = set()
    body = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)
    for match in re.finditer(r"^#{1,6}\s+(.+?)\s*#*\s*$", body, re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(slug if count == 0 else f"{slug}-{count}")
    found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", source))
    return found


def check_links(path, source):
    body = prose(source)
    for match in [*LINK.finditer(body), *REFERENCE.finditer(body)]:
        target = match[1]
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            continue
        name, _, anchor = urllib.parse.unquote(target).partition("#")
        line = line_of(body, match.start())
        base = ROOT if name.startswith("/") else (ROOT / path).parent
        there = (base / name.lstrip("/")).resolve() if name else ROOT / path
        if not there.exists() or not there.is_relative_to(ROOT):
            report(path, line, f"the link target does not exist: {target}")
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
            report(path, line, f"there is no such heading: {target}")


PROOF_ROW = re.compile(r"^\| ([RX]-\d\d) \|.*$", re.MULTILINE)


def cited(source):
    """Returns the requirement ids that a file cites, including ranges: 'R-35 to R-38', 'R-39 … R-42'."""
    found = set(re.findall(r"\b[RX]-\d\d\b", source))
    for kind, first, last in re.findall(r"\b([RX])-(\d\d) (?:to|…) \1-(\d\d)\b", source):
        found.update(f"{kind}-{number:02}" for number in range(int(first), int(last) + 1))
    return found


def check_proofs(path, source):
    """Requires that a file linked as proof of a requirement cites the requirement's id, to keep the link valid."""
    for row in PROOF_ROW.finditer(source):
        for match in LINK.finditer(row[0]):
            there = (ROOT / path).parent / match[1]
            if there.suffix == ".swift" and there.is_file() and row[1] not in cited(there.read_text(encoding="utf-8")):
                report(path, line_of(source, row.start()), f"{match[1]} is linked as proof of {row[1]} but does not cite it")


def main():
    files = git_files("--cached", "--others", "--exclude-standard")
    unlicensed = without_licence(files)
    table = import_table()
    for path in sorted(files):
        source = text(path)
        if source is None:
            continue
        if path not in unlicensed:
            check_header(path, source.splitlines())
        if path.suffix == ".swift":
            check_swift(path, source, table)
            check_length(path, source.splitlines())
            # The name of a test cannot be wrapped.
            check_columns(path, source.splitlines(), lambda line: "func `" in line)
            check_words(path, source)
        if path.suffix == ".md":
            body = prose(source)
            # Tables and code cannot be wrapped, nor can a link that is alone on its line or in its list item.
            lines = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source).splitlines()
            check_columns(path, lines, lambda line: line.lstrip().startswith("|") or is_one_link(line))
            check_words(path, body)
        if path.suffix == ".md" and ".docc" not in str(path):
            check_links(path, source)
            check_proofs(path, source)
        check_machine_paths(path, source)
    for path, line, sentence in findings:
        print(f"{path}:{line}: {sentence}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
