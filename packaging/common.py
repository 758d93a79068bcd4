"""Shared by all packaging scripts: the version, the date, and error output."""
import gzip
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
SUMMARY = "drop-in replacement for kube-scheduler"


class PackagingError(Exception):
    """A packaging error that the user has to fix; the text describes the fix."""


def run(*command, accept=(0,), env_extra=None, **options):
    """The standard output of a command; its exit code must be accepted. Runs without the caller's locale and library path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LD_", "LANG"))}
    environment |= {"LC_ALL": "C.UTF-8", **(env_extra or {})}
    try:
        result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise PackagingError(f"{command[0]} is not installed: script/setup --packaging installs it") from None
    if result.returncode not in accept:
        raise PackagingError(f"{' '.join(str(word) for word in command)}: exit code {result.returncode}\n{result.stderr.strip()}")
    return result.stdout


def version():
    """The version, from project() in CMakeLists.txt."""
    found = re.search(r"^project\(berth VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)
    if not found:
        raise PackagingError("CMakeLists.txt: no project(berth VERSION ...)")
    return found.group(1)


def source_date():
    """The time of all packaged files in seconds since 1970: SOURCE_DATE_EPOCH, or the date of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        try:
            given = run("git", "-C", SOURCE, "log", "-1", "--format=%ct").strip()
        except PackagingError as error:
            raise PackagingError(f"no git commit to take the date from; set SOURCE_DATE_EPOCH\n{error}") from None
    if not given.isdigit():
        raise PackagingError(f"SOURCE_DATE_EPOCH={given}: expected seconds since 1970")
    return int(given)


def check_program(binary):
    """Checks that the program can be shipped: it runs, has this version, and was built without sanitizers."""
    if not os.access(binary, os.X_OK):
        raise PackagingError(f"{binary}: no such program; build it with script/build")
    output = run(binary, "version").strip()
    if output.split()[:2] != ["berth", version()]:
        raise PackagingError(f"{binary}: prints \"{output}\", but the version in CMakeLists.txt is {version()}: build it again")
    if re.search(r"lib(asan|tsan|ubsan)\.", run("ldd", binary)):
        raise PackagingError(f"{binary}: was built with a sanitizer; build it with script/build without --sanitize")


def stripped(binary):
    """The program without debug information; the symbol table stays for CPU profiles."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "berth"
        run("strip", "--strip-debug", "--remove-section=.comment", "-o", copy, binary)
        return copy.read_bytes()


def compress(data, level=9):
    """Compresses with gzip, without name and time."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()


def main(function):
    """Runs `function` as a program and prints its errors in one format."""
    try:
        sys.exit(function())
    except (PackagingError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(1)
