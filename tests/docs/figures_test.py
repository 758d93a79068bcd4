#!/usr/bin/env python3
"""Tests of figures.py: each error is found, and only it."""
import copy
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import figures  # noqa: E402

PERFORMANCE = """# P

## Summary

| | ours | ratio | against |
|---|---|---|---|
| speed | 1,000 | 5 x | sandbox |
| memory | 3 MiB | 1/2 | sandbox |

## More
"""
README = """# R

## Why

| benefit | measured |
|---|---|
| fast | 1,000 per second, 5 x |

## Rest
"""
RECORDED = [
    {"figure": "speed", "cells": ["1,000", "5 x"], "command": "run", "against": "sandbox", "commit": "HEAD"},
    {"figure": "memory", "cells": ["3 MiB", "1/2"], "command": "run", "against": "sandbox", "commit": "HEAD"},
]


class Figures(unittest.TestCase):
    def errors(self, performance=PERFORMANCE, readme=README, change=None):
        recorded = copy.deepcopy(RECORDED)
        if change:
            change(recorded)
        return list(figures.errors_of(performance, readme, recorded, str(pathlib.Path(__file__).resolve().parent)))

    def test_equal_figures_have_no_errors(self):
        self.assertEqual(self.errors(), [])

    def test_each_difference_is_an_error(self):
        cases = {
            "another cell": (dict(performance=PERFORMANCE.replace("1,000", "2,000")), "recorded are"),
            "a row without a record": (dict(change=lambda r: r.pop()), "is not in bench/results.json"),
            "a record without a row": (dict(performance=PERFORMANCE.replace("| memory | 3 MiB | 1/2 | sandbox |\n", "")), "is missing"),
            "a figure of the README": (dict(readme=README.replace("5 x", "7 x")), "7 is not in bench/results.json"),
            "no command": (dict(change=lambda r: r[0].update(command="")), "has no command"),
            "an unknown commit": (dict(change=lambda r: r[0].update(commit="0123456789ab")), "there is no commit"),
        }
        for name, (arguments, text) in cases.items():
            with self.subTest(name):
                errors = self.errors(**arguments)
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(text, errors[0])


if __name__ == "__main__":
    unittest.main()
