#!/usr/bin/env python3
"""Checks the public headers, which cmake/public_headers.cmake lists.

    public_headers.py <root of the repository>            prints one line per error; exits with 1 if there is one
    public_headers.py <root of the repository> --list     prints the public headers, with the headers that they include
    public_headers.py <root of the repository> --size     prints what plugin.hpp includes: headers, lines, and the list

- scheduler/framework/plugin.hpp includes at most HEADERS_MAX headers with LINES_MAX lines, itself included.
- Every public header begins with a comment: what it is for.
- Every class, structure, enumeration and free function has a contract: a comment above it, beside it, in its first
  line, or above the group of lines to which it belongs. So has every virtual function of a class with more than two.
  Exempt: kubernetes/api, whose names are those of the Kubernetes API; structures inside of classes; overrides.
"""

import pathlib
import re
import sys

HEADERS_MAX = 25
LINES_MAX = 2500
PLUGIN = "scheduler/framework/plugin.hpp"

DECLARATION = re.compile(
    r"(?:template <.*> )?(?:(?:class|struct|enum class) (?:\[\[nodiscard\]\] )?(?P<type>\w+)[^;]*\{.*"
    r"|virtual (?!~)[^()]*?(?P<virtual>\w+)\(.*"
    r"|(?:inline |constexpr |\[\[nodiscard\]\] )*(?!return|using|friend|if|for|while|else|namespace)[\w:<>,&* ]+[ &*]"
    r"(?P<function>\w+)\([^=]*\)(?: const)?(?:;| \{.*))$")


def listed(root, variable):
    """The headers of a list in cmake/public_headers.cmake."""
    text = (root / "cmake/public_headers.cmake").read_text()
    body = re.search(rf"set\({variable}\n(.*?)\n\)", text, re.DOTALL).group(1)
    return [line.split("#")[0].strip() for line in body.splitlines()]


def path_of(root, header):
    found = root / "src" / header
    return found if found.exists() else root / header


def reachable(root, headers):
    """These headers and all that they include, in the order of their first occurrence."""
    found = {}
    pending = list(headers)
    while pending:
        header = pending.pop(0)
        if header not in found:
            found[header] = path_of(root, header).read_text()
            pending += re.findall(r'^#include "([^"]+)"', found[header], re.MULTILINE)
    return found


def line_counts(root):
    """The number of lines of plugin.hpp and of each header that it includes."""
    return {header: text.count("\n") for header, text in reachable(root, [PLUGIN]).items()}


def size_errors(root):
    headers = line_counts(root)
    lines = sum(headers.values())
    if len(headers) > HEADERS_MAX or lines > LINES_MAX:
        yield (f"src/{PLUGIN}:1: includes {len(headers)} headers with {lines} lines, itself included; "
               f"at most {HEADERS_MAX} headers with {LINES_MAX} lines are expected (--size lists them)")


def has_contract(lines, at):
    """Whether a comment stands at this line, in the next one if it is the first of the body, or above its group."""
    if "//" in lines[at]:
        return True
    if lines[at].endswith("{") and at + 1 < len(lines) and lines[at + 1].lstrip().startswith("//"):
        return True
    for line in reversed(lines[:at]):
        text = line.strip()
        if "//" in text:
            return True
        if not text or text.endswith("{") or text in ("public:", "private:", "protected:") or text.startswith("#"):
            return False
    return False


class Scope:
    def __init__(self, kind):
        self.kind = kind  # namespace, class, struct, enum, hidden: everything else
        self.public = kind != "class"
        self.virtuals = []  # (line, name) of virtual functions without a contract
        self.count = 0      # of virtual functions

    def errors(self):
        return self.virtuals if self.count > 2 else []


def undocumented(lines):
    """(line number, name) of each declaration that needs a contract and has none."""
    scopes = []
    for at, line in enumerate(lines):
        code = line.split("//")[0].rstrip()
        text = code.strip()
        if text in ("private:", "protected:", "public:") and scopes:
            scopes[-1].public = text == "public:"
        match = DECLARATION.match(text) if text and all(scope.public for scope in scopes) else None
        if match and " override" not in text:
            known = has_contract(lines, at)
            top = not scopes or scopes[-1].kind == "namespace"
            if match["virtual"] and scopes:
                scopes[-1].count += 1
                if not known:
                    scopes[-1].virtuals.append((at + 1, match["virtual"]))
            elif top and not known:
                yield at + 1, match["type"] or match["function"]
        for character in code:
            if character == "{":
                kind = re.match(r"(?:template <.*> ?)?(namespace|class|struct|enum)\b", text)
                scopes.append(Scope(kind.group(1) if kind else "hidden"))
                scopes[-1].public &= kind is not None and text != "namespace {"
            elif character == "}" and scopes:
                yield from scopes.pop().errors()


def contract_errors(name, text):
    lines = text.splitlines()
    if not lines[0].startswith("//"):
        yield f"{name}:1: a public header begins with a comment: what it is for"
    if "kubernetes/api" in str(name):
        return
    for line, declared in undocumented(lines):
        yield f"{name}:{line}: {declared} has no contract"


def main():
    root = pathlib.Path(sys.argv[1])
    if "--size" in sys.argv[2:]:
        headers = line_counts(root)
        for header, lines in sorted(headers.items()):
            print(f"{lines:5}  {header}")
        print(f"{sum(headers.values()):5}  in {len(headers)} headers")
        return 0
    public = reachable(root, listed(root, "BERTH_PUBLIC_HEADERS") + listed(root, "BERTH_PUBLIC_TEST_HEADERS"))
    if "--list" in sys.argv[2:]:
        for header in public:
            print(path_of(root, header).relative_to(root))
        return 0
    errors = list(size_errors(root))
    for header, text in public.items():
        errors += contract_errors(path_of(root, header).relative_to(root), text)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
