#!/usr/bin/env python3
"""The vocabulary check reports each kind of error."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import vocabulary  # noqa: E402


def check(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return vocabulary.check(pathlib.Path(folder), [name])


class VocabularyTest(unittest.TestCase):
    def test_former_names_are_reported_with_the_present_name(self):
        self.assertEqual(check("src/a.cpp", "int a;\nVocabulary words;\n"),
                         ['src/a.cpp:2: "Vocabulary": write SymbolTable'])

    def test_former_flags_may_stand_only_where_their_alias_is_defined(self):
        self.assertEqual(check("src/a.cpp", '  table.HiddenMebibytes("berth-class-memory", bytes);\n'), [])
        self.assertEqual(check("docs/a.md", "Use `--berth-class-memory`.\n"),
                         ['docs/a.md:1: "--berth-class-memory": write --berth-equivalence-cache-size'])

    def test_the_names_of_finished_families_are_reported(self):
        for name in ("newDice", "judgePods", "playStories", "complain", "homeless", "DoorExtender", "host->say", "host().memory",
                     "set_placement_memory", "extender_server/questions.hpp", "FakeWorld", "most_in_flight"):
            self.assertEqual(len(check("tests/a.go", f"x {name}(y)\n")), 1, name)
        for name in ("host->signal", "memory", "judgement", "indoors", "hosts.say"):
            self.assertEqual(check("tests/a.go", f"x {name}(y)\n"), [], name)

    def test_the_changelog_may_use_former_names(self):
        self.assertEqual(check("CHANGELOG.md", "Vocabulary is SymbolTable.\n"), [])

    def test_phrases_are_reported_in_documents_only(self):
        self.assertEqual(check("docs/a.md", "It hangs on the node.\n"), ['docs/a.md:1: "hangs on": write depends on'])
        self.assertEqual(check("src/a.cpp", "// It hangs on the node.\n"), [])

    def test_long_lines_are_reported_unless_they_cannot_be_broken(self):
        self.assertEqual(check("a.md", "word " * 30 + "\n"), ["a.md:1: 150 columns, at most 120"])
        self.assertEqual(check("a.md", "x" * 150 + "\n"), [])
        self.assertEqual(check("a.md", "```\n" + "word " * 30 + "\n```\n"), [])
        self.assertEqual(check("a.md", "| a |\n|---|\n| " + "word " * 30 + "|\n"), [])

    def test_rows_outside_of_tables_are_reported(self):
        self.assertEqual(check("a.md", "| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n"),
                         ["a.md:5: a table row outside of a table"])

    def test_rows_have_the_cells_of_their_header(self):
        self.assertEqual(check("a.md", "| a | b |\n|---|---|\n| 1 |\n"),
                         ["a.md:3: the row has 1 cells, the table 2 columns"])
        self.assertEqual(check("a.md", "| a | b |\n|---|---|\n| `x|y` | 2 |\n"), [])


if __name__ == "__main__":
    unittest.main()
