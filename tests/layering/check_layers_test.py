#!/usr/bin/env python3
"""The layering check finds what it is there to find."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check_layers.py")
SOUND = {
    "CMakeLists.txt": "foreach(module base api core)\n",
    "src/base/CMakeLists.txt": "berth_module(base)\n",
    "src/base/a.hpp": "#include <vector>\n",
    "src/kubernetes/api/CMakeLists.txt": "berth_module(api DEPS base LIBS yaml-cpp)\n",
    "src/kubernetes/api/b.hpp": '#include "base/a.hpp"\n',
    "src/kubernetes/api/b.cpp": '#include "api/b.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "src/scheduler/cycle/CMakeLists.txt": "berth_module(core DEPS api)\n",
    "src/scheduler/cycle/c.cpp": '#include "api/b.hpp"\n',
    "src/scheduler/cycle/c_test.cpp": '#include "base/a.hpp"\n',
}


def check(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (SOUND | changes).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines()


class Layers(unittest.TestCase):
    def assert_found(self, changes, *lines):
        self.assertEqual(check(changes), (1, list(lines)))

    def test_a_sound_tree_passes(self):
        self.assertEqual(check({}), (0, []))

    def test_an_include_needs_a_direct_dependency(self):
        self.assert_found(
            {"src/scheduler/cycle/c.cpp": '#include "api/b.hpp"\n#include "base/a.hpp"\n'},
            'src/scheduler/cycle/c.cpp:2: includes "base/a.hpp", but core does not declare base',
        )

    def test_a_dependency_must_be_used_outside_of_tests(self):
        self.assert_found(
            {"src/scheduler/cycle/CMakeLists.txt": "berth_module(core DEPS base api)\n"},
            "src/scheduler/cycle/CMakeLists.txt:1: core declares base and includes nothing of it",
        )

    def test_heavy_headers_stay_out_of_headers(self):
        self.assert_found({"src/kubernetes/api/b.hpp": '#include "base/a.hpp"\n#include <yaml-cpp/yaml.h>\n'},
                          "src/kubernetes/api/b.hpp:2: yaml-cpp/yaml.h is too heavy for a header")

    def test_nobody_uses_what_stands_above(self):
        self.assert_found(
            {"src/base/CMakeLists.txt": "berth_module(base DEPS api)\n", "src/base/a.hpp": '#include "api/b.hpp"\n'},
            "src/base/CMakeLists.txt:1: base stands below api in the list of modules and cannot use it",
        )

    def test_test_support_stays_out_of_the_program(self):
        self.assert_found({"src/scheduler/cycle/c.cpp": '#include "api/b.hpp"\n#include "testing/builders.hpp"\n'},
                          'src/scheduler/cycle/c.cpp:2: includes "testing/builders.hpp" outside of a test')

    def test_every_module_is_in_the_list(self):
        self.assert_found({"CMakeLists.txt": "foreach(module base api)\n"},
                          "src/scheduler/cycle/CMakeLists.txt:1: core is missing in the list of modules of CMakeLists.txt")


if __name__ == "__main__":
    unittest.main()
