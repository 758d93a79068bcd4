#!/usr/bin/env python3
"""Generates the pages in docs/reference from the program and its sources.

    reference.py --binary build/bin/berth            writes the pages
    reference.py --binary build/bin/berth --check    exit code 1 if a page is out of date
"""
import argparse
import re
import sys

import reference_fields
import reference_metrics
from command_help import describe
from common import SOURCE, PackagingError

PAGES = SOURCE / "docs" / "reference"
NOTE = "Made by `script/reference` from the program; a test compares. Do not edit.\n"


def flags(binary):
    """Every flag of every command, in the order of the help."""
    lines = ["# Flags", "", NOTE, "Of `berth scheduler` (called `kube-scheduler` it is the same), those of kube-scheduler v1.37.1 are marked; their names, types and "
             "defaults are its own. Of several mentions of a flag that takes one value the last one counts.", ""]
    for command in describe(binary).all_commands():
        if not command.path or not any(options for _, options in command.sections):
            continue
        scheduler = command.path == ("scheduler",)
        lines += [f"## berth {' '.join(command.path)}", "", command.introduction.split("\n\n")[0].replace("\n", " "), ""]
        for title, options in command.sections:
            options = [option for option in options if option.names]
            if not options:
                continue
            if scheduler:
                lines += [f"### {title}", ""]
            original = scheduler and "Berth" not in title and "older releases" not in title
            head = ["flag", "type", "default", *(["kube-scheduler"] if scheduler else []), "meaning"]
            lines += [_row(head), _row(["---"] * len(head))]
            for option in options:
                names = ", ".join(f"`{name}`" for name in option.names)
                kind = f"`{option.argument}`" if option.argument else "switch"
                text, default = _apart(option.text)
                lines.append(_row([names, kind, default, *(["yes" if original else "no"] if scheduler else []), text]))
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _apart(text):
    """The help text of a flag with its default."""
    found = re.match(r"(.*?) ?(?:\(default (.*)\)|Default: ([^.]*)\.)$", text)
    if not found:
        return text, ""
    return found[1], f"`{(found[2] or found[3]).strip(chr(34))}`"


def _row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = 0
    for name, text in (("flags.md", flags(options.binary)), ("configuration.md", reference_fields.page(options.binary, NOTE)),
                       ("metrics.md", reference_metrics.page(NOTE))):
        path = PAGES / name
        if not options.check:
            PAGES.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(SOURCE)} is out of date: run script/reference", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PackagingError as error:
        print(f"reference: {error}", file=sys.stderr)
        sys.exit(1)
