#!/usr/bin/env python3
"""Tests public_headers.py on small trees."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import public_headers  # noqa: E402

DOCUMENTED = """// What plugins implement.
#pragma once

namespace berth {

// A rule.
class Rule {
 public:
  virtual ~Rule() = default;
  // Rejects nodes.
  virtual void Filter() = 0;

  virtual void Reserve() = 0;  // takes resources
  // Returns them.
  virtual void Unreserve() = 0;

 private:
  virtual void Hidden() {}
};

// Grouped functions share a comment.
int First(int a);
int Second(int a);

enum class Kind { kA };  // of something

}  // namespace berth
"""


def errors(text, name="src/scheduler/framework/plugin.hpp"):
    return [error.split(": ", 1)[1] for error in public_headers.contract_errors(name, text)]


class Contracts(unittest.TestCase):
    def test_a_documented_header_has_no_errors(self):
        self.assertEqual(errors(DOCUMENTED), [])

    def test_every_kind_of_declaration_needs_a_contract(self):
        cases = {
            "// A rule.\n": "Rule has no contract",
            "  // Rejects nodes.\n": "Filter has no contract",
            "  // takes resources": "Reserve has no contract",
            "// Grouped functions share a comment.\n": "First has no contract",
            "  // of something": "Kind has no contract",
        }
        for comment, expected in cases.items():
            with self.subTest(expected):
                self.assertIn(expected, errors(DOCUMENTED.replace(comment, "")))

    def test_a_header_begins_with_its_purpose(self):
        self.assertEqual(errors(DOCUMENTED.removeprefix("// What plugins implement.\n")),
                         ["a public header begins with a comment: what it is for"])

    def test_names_of_the_kubernetes_api_need_none(self):
        self.assertEqual(errors("// Nodes.\nstruct Node {\n};\n", "src/kubernetes/api/node.hpp"), [])


class Size(unittest.TestCase):
    def errors_of(self, headers):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in headers.items():
                path = root / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return list(public_headers.size_errors(root))

    def test_too_many_headers_are_an_error(self):
        names = [f"base/h{i}.hpp" for i in range(public_headers.HEADERS_MAX)]
        headers = {name: "// A header.\n" for name in names}
        headers[public_headers.PLUGIN] = "".join(f'#include "{name}"\n' for name in names[1:])
        self.assertEqual(self.errors_of(headers), [])
        headers[names[1]] += f'#include "{names[0]}"\n'
        self.assertEqual(len(self.errors_of(headers)), 1)

    def test_too_many_lines_are_an_error(self):
        self.assertEqual(self.errors_of({public_headers.PLUGIN: "\n" * public_headers.LINES_MAX}), [])
        self.assertEqual(len(self.errors_of({public_headers.PLUGIN: "\n" * (public_headers.LINES_MAX + 1)})), 1)


if __name__ == "__main__":
    unittest.main()
