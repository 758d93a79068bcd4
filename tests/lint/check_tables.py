#!/usr/bin/env python3
"""Finds hash tables of texts whose hash function has no seed.

    check_tables.py <root of the repository>

Clients can construct names that collide in such a table, so that each further one takes longer. base/text_map.hpp has
tables with a seed. Exempt are folders and files whose texts do not come from clients. Prints one line per error,
"file:line: text", and exits with 1 if there is one.
"""

import pathlib
import re
import sys

TABLE = re.compile(r"\bunordered_(?:flat_|node_)?(?:map|set)<\s*(?:const\s+)?(?:std::string(?:_view)?|(?:api::)?Text)\b([^;]*)")
HASH = re.compile(r"\b(?:std|boost)::hash<\s*(?:std::string(?:_view)?|(?:berth::)?(?:api::)?Text)\s*>\s*(?:\(\)|\w+;)")
# Path and reason.
EXEMPT = {
    "src/sandbox/": "for tests: its clients are trusted",
    "src/tools/demo/": "its objects are its own",
    "src/observability/log/log.hpp": "keys of log fields are constants of the program",
    "src/kubernetes/api/recent_values.hpp": "a cache with a fixed number of slots: a collision replaces one entry",
}


def main():
    root = pathlib.Path(sys.argv[1])
    errors, used = check(root)
    errors += [f"tests/lint/check_tables.py:1: the exemption {path} is not needed" for path in EXEMPT if path not in used]
    for error in errors:
        print(error)
    return 1 if errors else 0


def check(root):
    errors, used = [], set()
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        name = str(path.relative_to(root))
        if name.endswith("_test.cpp") or path.name.startswith("fake_"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            table = TABLE.search(line)
            if not (table and "SeededHash" not in table[1]) and not HASH.search(line):
                continue
            if exempt := next((path for path in EXEMPT if name.startswith(path)), None):
                used.add(exempt)
            else:
                errors.append(f"{name}:{number}: a hash table of texts needs a hash with a seed: base/text_map.hpp")
    return errors, used


if __name__ == "__main__":
    sys.exit(main())
