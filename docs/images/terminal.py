#!/usr/bin/env python3
"""Runs a command in a terminal of 100 columns and draws its output as SVG.

    docs/images/terminal.py [--title TEXT] FILE.svg COMMAND...

docs/images/demo.svg: docs/images/terminal.py --title 'berth demo' docs/images/demo.svg build/bin/berth demo
"""

import argparse
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import sys
import termios

COLUMNS = 100
CELL, LINE, MARGIN = 7.8, 18, 16  # pixels: width of a character, height of a line, border
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--title", help="the command line to show; default: the real one")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    output, code = run(arguments.command)
    if code != 0:
        sys.exit(f"{arguments.command[0]}: exit code {code}")
    lines = [f"$ {arguments.title or ' '.join(arguments.command)}", *screen(output)]
    arguments.file.write_text(svg(lines))


def run(command):
    """The output of the command in a terminal, and its exit code."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    output = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the child has closed the terminal
            break
        if not part:
            break
        output += part
    return output.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def screen(output):
    """The lines at the end: a carriage return overwrites its line, and long lines continue in the next one."""
    lines = []
    for line in CONTROL.sub("", output).replace("\r\n", "\n").split("\n"):
        row = ""
        for part in line.split("\r"):
            row = part + row[len(part):]
        row = row.rstrip()
        lines += [row[at:at + COLUMNS] for at in range(0, max(len(row), 1), COLUMNS)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def svg(lines):
    width, height = round(COLUMNS * CELL + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    texts = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + 13 + number * LINE}" textLength="{len(line) * CELL:.1f}"'
        f'{" class=" + chr(34) + "command" + chr(34) if number == 0 else ""}>{html.escape(line, quote=False)}</text>\n'
        for number, line in enumerate(lines) if line)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">
<style>
text {{ font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8dee9; white-space: pre }}
.command {{ fill: #a3be8c; font-weight: bold }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#22272e"/>
{texts}</svg>
"""


if __name__ == "__main__":
    main()
