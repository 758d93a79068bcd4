#!/usr/bin/env python3
"""Compares what each module of src/ declares that it uses with what it includes.

    check_layers.py <root of the repository>

A module's line in its CMakeLists.txt is the law: berth_module(<name> DEPS <modules it may include> ...). Prints one
line per mistake, "file:line: what", and exits with 1 if there is any.
"""

import pathlib
import re
import sys

# Headers that cost every includer dearly: they belong into .cpp files and into private headers.
HEAVY = re.compile(r"^(protozero/|boost/asio|boost/beast|boost/json|simdjson\.h|yaml-cpp/|spdlog/)")
# Headers that include one all the same, and why.
HEAVY_ALLOWED = {
    "src/kubernetes/api/json_reader.hpp": "private to api: the readers of all objects share it",
    "src/kubernetes/api/wire/message.hpp": "private to api/wire: the readers of all messages share it",
    "src/sandbox/": "keeps documents as JSON, for it stands in for an API server",
    "src/kubernetes/client/": "coroutines over sockets are its subject; only what wires the program together includes it",
    "src/service/": "coroutines over sockets are its subject; only what wires the program together includes it",
    "src/http/": "coroutines over sockets are its subject",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def is_test(path):
    return path.name.endswith("_test.cpp") or path.name.startswith("fake_")


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1), found.group(2)


def declared(path):
    """Name, dependencies and line number of the module that a CMakeLists.txt declares."""
    text = re.sub(r"#.*", "", path.read_text())
    found = re.search(r"berth_module\(\s*(\w+)([^)]*)\)", text)
    if not found:
        return None
    words = found.group(2).split()
    sections = {"": []}
    current = ""
    for word in words:
        if word in ("DEPS", "LIBS", "TEST_DEPS", "TEST_LIBS"):
            current = word
            sections[current] = []
        else:
            sections[current].append(word)
    line = text[: found.start()].count("\n") + 1
    return found.group(1), sections.get("DEPS", []), line


def order_of(root):
    text = (root / "CMakeLists.txt").read_text()
    found = re.search(r"foreach\(module ([^)]*)\)", text)
    return found.group(1).split() if found else []


def main():
    root = pathlib.Path(sys.argv[1])
    order = order_of(root)
    mistakes = []
    if not order:
        mistakes.append("CMakeLists.txt:1: the list of modules, foreach(module ...), is not there")
    modules = {}
    for lists in sorted(root.glob("src/*/CMakeLists.txt")):
        if (module := declared(lists)) is not None:
            modules[lists.parent.name] = (lists, *module)

    for folder, (lists, name, deps, line) in modules.items():
        place = f"{lists.relative_to(root)}:{line}"
        if name != folder:
            mistakes.append(f"{place}: the module is called {name}, its folder {folder}")
        if folder not in order:
            mistakes.append(f"{place}: {folder} is missing in the list of modules of CMakeLists.txt")
        used = set()
        for path in sorted((root / "src" / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".h", ".cc") or is_test(path):
                continue
            shown = str(path.relative_to(root))
            for number, ours, theirs in includes(path):
                other = ours.split("/")[0] if ours else None
                if ours and other in modules and other != folder:
                    used.add(other)
                    if other not in deps:
                        mistakes.append(f"{shown}:{number}: includes \"{ours}\", but {folder} does not declare {other}")
                if ours and ours.startswith("testing/"):
                    mistakes.append(f"{shown}:{number}: includes \"{ours}\" outside of a test")
                heavy = HEAVY.match(theirs or ours or "")
                if path.suffix == ".hpp" and heavy and not any(shown.startswith(a) for a in HEAVY_ALLOWED):
                    mistakes.append(f"{shown}:{number}: {theirs or ours} is too heavy for a header")
        for dep in deps:
            if dep not in modules:
                mistakes.append(f"{place}: {folder} declares {dep}, which is no module")
            elif dep not in used:
                mistakes.append(f"{place}: {folder} declares {dep} and includes nothing of it")
            # The list runs from the ground up, so this also rules out cycles.
            if dep in order and folder in order and order.index(dep) >= order.index(folder):
                mistakes.append(f"{place}: {folder} stands below {dep} in the list of modules and cannot use it")

    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
