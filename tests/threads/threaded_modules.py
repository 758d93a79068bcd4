#!/usr/bin/env python3
"""Prints the tests that ThreadSanitizer has to run: one name of ctest per line.

    threaded_modules.py <root of the repository>

These are the unit tests of every module whose sources use threads or atomics. A module without unit tests must be part
of a process that the test `demo` runs. Exits with 1 if there is another one.
"""
import pathlib
import re
import sys

THREADS = re.compile(r"\bstd::(j?thread|atomic\w*|(shared_|recursive_|timed_)*mutex|condition_variable\w*|async|promise|"
                     r"packaged_task|(shared_)?future|once_flag|counting_semaphore|binary_semaphore|latch|barrier)\b|\bpthread_create\b")
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


def uses_threads(files):
    return any(THREADS.search(re.sub(r"//.*", "", path.read_text())) for path in files)


def main():
    errors = []
    for name, files in sorted(modules(pathlib.Path(sys.argv[1])).items()):
        if not uses_threads(files):
            continue
        if any(path.name.endswith("_test.cpp") for path in files):
            print(name.replace("/", "_"))
        elif name not in IN_DEMO:
            errors.append(f"src/{name}: uses threads or atomics, but ThreadSanitizer runs no test of it: add one")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
