#!/usr/bin/env python3
"""Plays the commands of a page and compares their output with the page.

    play.py [--record] <page> <path of the program berth>

The commands are the lines that begin with "$ " in code blocks, with their heredocs; the lines below a command are its
output. All run in one shell, in an empty directory. A command that only reads (kubectl get, a function of the page) is
repeated until its output is as expected. Times, generated names and ports are not compared, nor the width of columns;
a line "..." stands for any lines. The program listens on free ports.

--record replaces the output in the page by the present one.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 30  # seconds
MARK = "--- end of command"
# The ports of the page may be in use.
PROGRAM = """#!/bin/sh
case "$1" in
sandbox) set -- "$@" --port=0 ;;
scheduler) set -- "$@" --secure-port=0 --berth-http-address=127.0.0.1:0 ;;
esac
exec "$BERTH" "$@"
"""
VOLATILE = [
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-(suffix)"),
    (re.compile(r"\b\d+(m\d+)?s\b|\b\d+m\b"), "(age)"),
    (re.compile(r"127\.0\.0\.1:\d+"), "(address)"),
    (re.compile(r" from \w+ namespace$"), ""),  # of kubectl delete since 1.33
    (re.compile(r"[ \t]+"), " "),
]


class Step:
    def __init__(self, line, indent, text):
        self.line = line  # number of the first line
        self.indent = indent
        self.command = text
        self.output = []
        self.end = line  # the line after the command

    def reads(self):
        return bool(re.match(r"kubectl (get|describe|events)\b|\w+$", self.command))


def steps_of(lines):
    steps = []
    heredoc = None
    for number, line in enumerate(lines):
        text = line.strip()
        if heredoc:
            steps[-1].command += "\n" + line[len(steps[-1].indent):]
            steps[-1].end = number + 1
            if text == heredoc:
                heredoc = None
        elif found := re.match(r"(    +)\$ (.*)", line):
            steps.append(Step(number, found[1], found[2]))
            steps[-1].end = number + 1
            opened = re.search(r"<<-?'?(\w+)'?", found[2])
            heredoc = opened and opened[1]
        elif line.startswith("    ") and steps and steps[-1].end + len(steps[-1].output) == number:
            steps[-1].output.append(line[len(steps[-1].indent):])
    return steps


class Shell:
    """Runs commands one after the other. `directory` gets the subdirectories bin and work."""

    def __init__(self, directory, berth):
        self.work = directory / "work"
        program = directory / "bin" / "berth"
        for folder in (self.work, program.parent):
            folder.mkdir()
        program.write_text(PROGRAM)
        program.chmod(0o755)
        environment = {**os.environ, "BERTH": berth, "HOME": str(directory), "LC_ALL": "C.UTF-8",
                       "PATH": f"{program.parent}:{os.environ['PATH']}"}
        environment.pop("KUBECONFIG", None)
        self.process = subprocess.Popen(["bash", "-s"], cwd=self.work, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)

    def run(self, command):
        self.process.stdin.write(f"{command}\necho; echo '{MARK}'\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) and line.rstrip("\n") != MARK:
            lines.append(line.rstrip())
        return lines[:-1] if lines and not lines[-1] else lines

    def stop(self):
        self.process.stdin.write("kill $(jobs -p) 2>/dev/null; wait\n")
        self.process.stdin.close()
        self.process.wait(timeout=30)


def normal(line):
    for pattern, text in VOLATILE:
        line = pattern.sub(text, line)
    return line.strip()


def matches(expected, output):
    """Whether the lines are equal; "..." stands for any lines."""
    if not expected:
        return not output
    if expected[0].strip() == "...":
        return any(matches(expected[1:], output[i:]) for i in range(len(output) + 1))
    return bool(output) and normal(expected[0]) == normal(output[0]) and matches(expected[1:], output[1:])


def play(shell, step):
    """The last output of the command, and whether it is as expected."""
    deadline = time.monotonic() + PATIENCE
    while True:
        output = shell.run(step.command)
        fine = matches(step.output, output)
        if fine or not step.reads() or time.monotonic() > deadline:
            return output, fine
        time.sleep(0.3)


def record(shell, lines, steps):
    """The page with the present output. What is not ready at once is read again after three seconds."""
    for step in steps:
        output = shell.run(step.command)
        if step.reads():
            time.sleep(3)
            output = shell.run(step.command)
        step.recorded = [step.indent + line if line else "" for line in output]
    page = list(lines)
    for step in reversed(steps):
        page[step.end:step.end + len(step.output)] = step.recorded
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("berth")
    arguments = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: there is no kubectl here")
        return 77
    lines = arguments.page.read_text().splitlines()
    steps = steps_of(lines)
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        shell = Shell(pathlib.Path(directory), str(pathlib.Path(arguments.berth).resolve()))
        try:
            if arguments.record:
                arguments.page.write_text("\n".join(record(shell, lines, steps)) + "\n")
                return 0
            for step in steps:
                output, fine = play(shell, step)
                first = step.command.splitlines()[0]
                print("ok:" if fine else "FAILED:", f"{arguments.page.name}:{step.line + 1}: {first}")
                if not fine:
                    failures += 1
                    print("".join(f"  page:   {line}\n" for line in step.output), end="")
                    print("".join(f"  output: {line}\n" for line in output), end="")
        finally:
            shell.stop()
            if failures:
                for log in sorted(shell.work.glob("*.log")):
                    print(f"--- {log.name}\n" + log.read_text()[-3000:])
    if not steps:
        print("no commands found")
    return 1 if failures or not steps else 0


if __name__ == "__main__":
    sys.exit(main())
