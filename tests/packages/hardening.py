#!/usr/bin/env python3
"""Checks that a program was linked with the hardening that docs/security.md claims.

usage: hardening.py PROGRAM
"""
import re
import subprocess
import sys


def readelf(program, *options):
    return subprocess.run(["readelf", "--wide", *options, program], check=True, capture_output=True, text=True).stdout


def findings(header, segments, dynamic, symbols):
    """The missing properties, from the output of readelf."""
    if not re.search(r"Type:\s+DYN", header):
        yield "it is not position-independent"
    if "GNU_RELRO" not in segments:
        yield "no read-only relocations (-z relro)"
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic):
        yield "relocations are done lazily (-z now)"
    if re.search(r"GNU_STACK.*RWE", segments):
        yield "the stack is executable"
    if "__stack_chk_fail" not in symbols:
        yield "no stack protector (-fstack-protector-strong)"
    if not re.search(r"__(memcpy|memmove|snprintf|vsnprintf|read|fread|memset|strcpy|strcat|fprintf|vfprintf)_chk", symbols):
        yield "no checked C functions (_FORTIFY_SOURCE)"


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    program = sys.argv[1]
    missing = list(findings(readelf(program, "--file-header"), readelf(program, "--program-headers"),
                            readelf(program, "--dynamic"), readelf(program, "--dyn-syms")))
    for what in missing:
        print(f"{program}: {what}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
