#!/usr/bin/env python3
"""The layering check reports each kind of error."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check_layers.py")
SOUND = {
    "CMakeLists.txt": "foreach(module base kubernetes/api\n  scheduler/queue scheduler/cycle)\n",
    "src/base/CMakeLists.txt": "berth_module(base)\n",
    "src/base/README.md": "# base\n",
    "src/base/a.hpp": "#include <vector>\n",
    "src/kubernetes/README.md": "# kubernetes\n",
    "src/kubernetes/api/CMakeLists.txt": "berth_module(kubernetes/api DEPS base LIBS yaml-cpp)\n",
    "src/kubernetes/api/b.hpp": '#include "base/a.hpp"\n',
    "src/kubernetes/api/b.cpp": '#include "kubernetes/api/b.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "src/scheduler/README.md": "# scheduler\n",
    "src/scheduler/queue/CMakeLists.txt": "berth_module(scheduler/queue DEPS base)\n",
    "src/scheduler/queue/q.hpp": '#include "base/a.hpp"\n',
    "src/scheduler/cycle/CMakeLists.txt": "berth_module(scheduler/cycle\n  DEPS kubernetes/api scheduler/queue)\n",
    "src/scheduler/cycle/c.cpp": '#include "kubernetes/api/b.hpp"\n#include "scheduler/queue/q.hpp"\n',
    "src/scheduler/cycle/c_test.cpp": '#include "base/a.hpp"\n',
}
CYCLE = SOUND["src/scheduler/cycle/c.cpp"]


def check(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (SOUND | changes).items():
            if text is None:
                continue
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
            {"src/scheduler/cycle/c.cpp": CYCLE + '#include "base/a.hpp"\n'},
            'src/scheduler/cycle/c.cpp:3: includes "base/a.hpp", but scheduler/cycle does not declare base',
        )

    def test_a_dependency_within_a_directory_is_declared_too(self):
        self.assert_found(
            {"src/scheduler/cycle/CMakeLists.txt": "berth_module(scheduler/cycle DEPS kubernetes/api)\n"},
            'src/scheduler/cycle/c.cpp:2: includes "scheduler/queue/q.hpp", '
            "but scheduler/cycle does not declare scheduler/queue",
        )

    def test_a_dependency_must_be_used_outside_of_tests(self):
        self.assert_found(
            {"src/scheduler/cycle/CMakeLists.txt":
                 "berth_module(scheduler/cycle DEPS base kubernetes/api scheduler/queue)\n"},
            "src/scheduler/cycle/CMakeLists.txt:1: scheduler/cycle declares base and includes nothing of it",
        )

    def test_heavy_headers_stay_out_of_headers(self):
        self.assert_found({"src/kubernetes/api/b.hpp": '#include "base/a.hpp"\n#include <yaml-cpp/yaml.h>\n'},
                          "src/kubernetes/api/b.hpp:2: yaml-cpp/yaml.h is too heavy for a header")

    def test_a_module_does_not_use_a_module_above_it(self):
        self.assert_found(
            {"src/scheduler/queue/CMakeLists.txt": "berth_module(scheduler/queue DEPS base scheduler/cycle)\n",
             "src/scheduler/queue/q.cpp": '#include "scheduler/cycle/c.hpp"\n'},
            "src/scheduler/queue/CMakeLists.txt:1: scheduler/queue is listed after scheduler/cycle "
            "in the list of modules and cannot use it",
        )

    def test_first_level_directories_do_not_form_a_circle(self):
        self.assert_found(
            {"CMakeLists.txt": "foreach(module base scheduler/queue kubernetes/api scheduler/cycle)\n",
             "src/kubernetes/api/CMakeLists.txt": "berth_module(kubernetes/api DEPS base scheduler/queue)\n",
             "src/kubernetes/api/b.hpp": '#include "base/a.hpp"\n#include "scheduler/queue/q.hpp"\n'},
            "src/kubernetes/api/b.hpp:2: kubernetes uses scheduler, and scheduler uses kubernetes: "
            "a circle of first-level directories",
            "src/scheduler/cycle/c.cpp:1: scheduler uses kubernetes, and kubernetes uses scheduler: "
            "a circle of first-level directories",
        )

    def test_test_support_stays_out_of_the_program(self):
        self.assert_found({"src/scheduler/cycle/c.cpp": CYCLE + '#include "testing/builders.hpp"\n'},
                          'src/scheduler/cycle/c.cpp:3: includes "testing/builders.hpp" outside of a test')

    def test_every_module_is_in_the_list(self):
        self.assert_found({"CMakeLists.txt": "foreach(module base kubernetes/api scheduler/queue)\n"},
                          "src/scheduler/cycle/CMakeLists.txt:1: scheduler/cycle is missing in the list of modules "
                          "of CMakeLists.txt")

    def test_a_module_is_called_like_its_directory(self):
        self.assert_found({"src/base/CMakeLists.txt": "berth_module(basis)\n"},
                          "src/base/CMakeLists.txt:1: the module is called basis, its directory base")

    def test_every_first_level_directory_has_a_readme(self):
        self.assert_found({"src/base/README.md": None},
                          "src/base/README.md:1: the file is missing: purpose, entry points, allowed dependents")


if __name__ == "__main__":
    unittest.main()
