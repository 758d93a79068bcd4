#!/usr/bin/env python3
"""Compares the figures of the summaries with the recorded results.

    figures.py <root of the repository>

Every row of the table below "## Summary" in docs/performance.md must be in bench/results.json with the same cells, and
the other way round. Each figure names the command, what it was measured against, and the commit that recorded it; where
the history is available, the commit must exist. The last column of the table is what a figure was measured against.
Every figure below "## Why" in README.md must be one of these. Prints one line per error and exits with 1 if there is any.
"""
import json
import pathlib
import re
import subprocess
import sys


def rows_below(text, heading):
    """The cells of the first table below a heading, without the head."""
    section = text.split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def numbers(text):
    return re.findall(r"\d[\d,.]*\d|\d", text)


def check_summary(rows, figures):
    recorded = {figure["figure"]: [*figure["cells"], figure["against"]] for figure in figures}
    written = {row[0]: row[1:] for row in rows}
    for name in sorted(recorded.keys() - written.keys()):
        yield f"docs/performance.md: the recorded figure \"{name}\" is missing"
    for name, cells in written.items():
        if name not in recorded:
            yield f"docs/performance.md: \"{name}\" is not in bench/results.json"
        elif recorded[name] != cells:
            yield f"docs/performance.md: \"{name}\": {cells}, recorded are {recorded[name]}"


def check_readme(rows, figures):
    known = {number for figure in figures for number in numbers(" ".join([figure["figure"], *figure["cells"]]))}
    for row in rows:
        for number in numbers(row[1]):
            if number not in known:
                yield f"README.md: \"{row[1]}\": {number} is not in bench/results.json"


def check_origin(figures, root):
    history = subprocess.run(["git", "-C", root, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    complete = history.returncode == 0 and history.stdout.strip() == "false"
    for figure in figures:
        for key in ("command", "against", "commit"):
            if not figure.get(key):
                yield f"bench/results.json: \"{figure['figure']}\" has no {key}"
        if complete and subprocess.run(["git", "-C", root, "cat-file", "-e", figure["commit"] + "^{commit}"], capture_output=True).returncode:
            yield f"bench/results.json: \"{figure['figure']}\": there is no commit {figure['commit']}"


def errors_of(performance, readme, figures, root):
    yield from check_summary(rows_below(performance, "## Summary"), figures)
    yield from check_readme(rows_below(readme, "## Why"), figures)
    yield from check_origin(figures, root)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    figures = json.loads((root / "bench/results.json").read_text())["figures"]
    errors = list(errors_of((root / "docs/performance.md").read_text(), (root / "README.md").read_text(), figures, root))
    for error in errors:
        print(error)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
