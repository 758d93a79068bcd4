"""What everything that is packaged has in common: the version, the date, and how a failure reads."""
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
    """Something that whoever packages has to put right; its text says what and how."""


def run(*command, accept=(0,), env_extra=None, **options):
    """The standard output of a command, which must end with an accepted exit code. It sees no locale and no library path of the caller."""
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
    """The one place that says it is project() in CMakeLists.txt."""
    found = re.search(r"^project\(berth VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)
    if not found:
        raise PackagingError("CMakeLists.txt: no project(berth VERSION ...)")
    return found.group(1)


def source_date():
    """Seconds since 1970 that stand for the time of everything packaged: SOURCE_DATE_EPOCH, or the date of the commit."""
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
    """A program that can be shipped: it runs, is of this version, and has no sanitizer in it."""
    if not os.access(binary, os.X_OK):
        raise PackagingError(f"{binary}: no such program; script/build makes it")
    said = run(binary, "version").strip()
    if said.split()[:2] != ["berth", version()]:
        raise PackagingError(f"{binary}: says \"{said}\", but CMakeLists.txt says version {version()}: build it again")
    if re.search(r"lib(asan|tsan|ubsan)\.", run("ldd", binary)):
        raise PackagingError(f"{binary}: is built with a sanitizer; release builds are those of script/build without --sanitize")


def stripped(binary):
    """The bytes of the program without what only debuggers read; CPU profiles take functions' names from what is left."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "berth"
        run("strip", "--strip-debug", "--remove-section=.comment", "-o", copy, binary)
        return copy.read_bytes()


def compress(data, level=9):
    """As gzip, with neither name nor time in it."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()


def main(function):
    """Runs `function` as a program: what it raises is said in one place and one way."""
    try:
        sys.exit(function())
    except (PackagingError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(1)
