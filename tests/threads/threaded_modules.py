#!/usr/bin/env python3
"""Prints the tests that ThreadSanitizer has to run: one name of ctest per line.

    threaded_modules.py <root of the repository>

These are the unit tests of every module with a file that starts threads, or that uses a pool of them or, in tests, the
thread of connections. Tests with one thread have no data races: atomics that the threads of a process share are covered by
the test `demo`, which runs all processes. A module with threads but without unit tests must be part of them. Exits with 1 if there is another one.
"""
import pathlib
import re
import sys

THREADS = re.compile(r"\bstd::(j?thread|async)\b|\bpthread_create\b|\b(thread_pool|WorkerPool)\b")
IN_TESTS = re.compile(THREADS.pattern + r"|\bIoThread\b")
# Modules without unit tests whose threads the test `demo` runs.
IN_DEMO = {"tools/demo", "tools/load_generator"}


def modules(root):
    """Folders of modules below src/, each with its files: those in folders of other modules do not belong to it."""
    folders = {path.parent for path in (root / "src").rglob("CMakeLists.txt") if "berth_module(" in path.read_text()}
    found = {folder: [] for folder in folders}
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        folder = next((parent for parent in path.parents if parent in folders), None)
        if folder is not None:
            found[folder].append(path)
    return {str(folder.relative_to(root / "src")): files for folder, files in found.items()}


def is_test(path):
    return path.name.endswith("_test.cpp") or path.name.startswith("fake_")


def starts_threads(files):
    return any((IN_TESTS if is_test(path) else THREADS).search(re.sub(r"//.*", "", path.read_text())) for path in files)


def main():
    errors = []
    for name, files in sorted(modules(pathlib.Path(sys.argv[1])).items()):
        if not starts_threads(files):
            continue
        if any(path.name.endswith("_test.cpp") for path in files):
            print(name.replace("/", "_"))
        elif name not in IN_DEMO:
            errors.append(f"src/{name}: starts threads, but ThreadSanitizer runs no test of it: add one")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
