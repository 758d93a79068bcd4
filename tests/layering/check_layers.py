#!/usr/bin/env python3
"""Compares the declared dependencies of each module under src/ with its includes.

    check_layers.py <root of the repository>

A module is a directory whose CMakeLists.txt contains berth_module(<path below src> DEPS <modules>). The check
requires that
  - a file includes only its own module and the modules that DEPS names, and DEPS names no module without use;
  - the list of modules in the root's CMakeLists.txt contains every module, each after its dependencies;
  - the first-level directories of src/ do not depend on each other in a circle;
  - every first-level directory has a README.md;
  - heavy third-party headers are not included by headers.
Prints one line per error, "file:line: text", and exits with 1 if there is one.
"""

import pathlib
import re
import sys

# Headers that are expensive for every includer: they belong in .cpp files and in private headers.
HEAVY = re.compile(r"^(protozero/|boost/asio|boost/beast|boost/json(?!/fwd\.hpp)|simdjson\.h|yaml-cpp/)")
# Headers that may include one, with the reason.
HEAVY_ALLOWED = {
    "src/kubernetes/api/json_reader.hpp": "private to kubernetes/api: all object decoders share it",
    "src/kubernetes/api/wire/message.hpp": "private to kubernetes/api/wire: all message decoders share it",
    "src/sandbox/": "an API server stores documents as JSON",
    "src/kubernetes/client/": "coroutines over sockets; included only by the wiring of the processes",
    "src/service/": "coroutines over sockets; included only by the wiring of the processes",
    "src/http/": "coroutines over sockets",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def main():
    root = pathlib.Path(sys.argv[1])
    errors = check(root)
    for error in errors:
        print(error)
    return 1 if errors else 0


def check(root):
    order = order_of(root)
    if not order:
        return ["CMakeLists.txt:1: the list of modules, foreach(module ...), is missing"]
    modules = {}
    for path in sorted((root / "src").rglob("CMakeLists.txt")):
        if (module := declared(path)) is not None:
            modules[str(path.parent.relative_to(root / "src"))] = (path, *module)
    errors = []
    edges = {}
    for folder in modules:
        errors += check_module(root, folder, modules, order, edges)
    errors += circles(edges)
    for group in sorted({folder.split("/")[0] for folder in modules}):
        if not (root / "src" / group / "README.md").exists():
            errors.append(f"src/{group}/README.md:1: the file is missing: purpose, entry points, allowed dependents")
    return errors


def order_of(root):
    text = (root / "CMakeLists.txt").read_text()
    found = re.search(r"foreach\(module\s+([^)]*)\)", text)
    return found.group(1).split() if found else []


def declared(path):
    """Name, dependencies and line number of the module that a CMakeLists.txt declares."""
    text = re.sub(r"#.*", "", path.read_text())
    found = re.search(r"berth_module\(\s*([\w/]+)([^)]*)\)", text)
    if not found:
        return None
    sections = {"": []}
    current = ""
    for word in found.group(2).split():
        if word in ("DEPS", "LIBS", "TEST_DEPS", "TEST_LIBS", "DECISION_PATH", "COMPILED_QUICKLY"):
            current = word
            sections[current] = []
        else:
            sections[current].append(word)
    line = text[: found.start()].count("\n") + 1
    return found.group(1), sections.get("DEPS", []), line


def check_module(root, folder, modules, order, edges):
    path, name, deps, line = modules[folder]
    place = f"{path.relative_to(root)}:{line}"
    errors = []
    if name != folder:
        errors.append(f"{place}: the module is called {name}, its directory {folder}")
    if folder not in order:
        errors.append(f"{place}: {folder} is missing in the list of modules of CMakeLists.txt")
    used = set()
    for file in sorted((root / "src" / folder).rglob("*")):
        if file.suffix not in (".hpp", ".cpp", ".h", ".cc") or is_test(file):
            continue
        if module_of(str(file.relative_to(root / "src")), modules) != folder:
            continue
        shown = str(file.relative_to(root))
        for number, own, foreign in includes(file):
            other = module_of(own, modules) if own else None
            if other and other != folder:
                used.add(other)
                edges.setdefault(folder.split("/")[0], {}).setdefault(other.split("/")[0], f"{shown}:{number}")
                if other not in deps:
                    errors.append(f'{shown}:{number}: includes "{own}", but {folder} does not declare {other}')
            if own and own.startswith("testing/"):
                errors.append(f'{shown}:{number}: includes "{own}" outside of a test')
            heavy = HEAVY.match(foreign or own or "")
            if file.suffix == ".hpp" and heavy and not any(shown.startswith(a) for a in HEAVY_ALLOWED):
                errors.append(f"{shown}:{number}: {foreign or own} is too heavy for a header")
    for dep in deps:
        if dep not in modules:
            errors.append(f"{place}: {folder} declares {dep}, which is not a module")
        elif dep not in used:
            errors.append(f"{place}: {folder} declares {dep} and includes nothing of it")
        if dep in order and folder in order and order.index(dep) >= order.index(folder):
            errors.append(f"{place}: {folder} is listed after {dep} in the list of modules and cannot use it")
    return errors


def module_of(file, modules):
    """The module that contains a file (its path below src/), the innermost of several; None if there is none."""
    parts = file.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if (folder := "/".join(parts[:length])) in modules:
            return folder
    return None


def circles(edges):
    """An error for each pair of first-level directories that reach each other."""
    edges = {group: {to: at for to, at in targets.items() if to != group} for group, targets in edges.items()}

    def reaches(start, goal, seen):
        return any(to == goal or (to not in seen and reaches(to, goal, seen | {to})) for to in edges.get(start, {}))

    return [
        f"{at}: {group} uses {to}, and {to} uses {group}: a circle of first-level directories"
        for group, targets in sorted(edges.items())
        for to, at in sorted(targets.items())
        if reaches(to, group, {to})
    ]


def is_test(path):
    return path.name.endswith("_test.cpp") or path.name.startswith(("fake_", "test_"))


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1), found.group(2)


if __name__ == "__main__":
    sys.exit(main())
