#!/usr/bin/env python3
"""threaded_modules.py finds the modules with threads."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("threaded_modules.py")
THREAD = "#include <thread>\nstd::jthread thread;\n"


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, "src", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.split(), done.stderr


class ThreadedModules(unittest.TestCase):
    def test_modules_with_threads_are_named(self):
        code, names, _ = run({
            "base/CMakeLists.txt": "berth_module(base)\n", "base/a.hpp": THREAD, "base/a_test.cpp": "",
            "tools/shadow/CMakeLists.txt": "berth_module(tools/shadow)\n", "tools/shadow/b.cpp": "std::jthread thread;\n",
            "tools/shadow/b_test.cpp": "",
            "config/CMakeLists.txt": "berth_module(config)\n", "config/c.cpp": "// no std::thread\nstd::atomic<int> count;\n", "config/c_test.cpp": ""})
        self.assertEqual((code, names), (0, ["base", "tools_shadow"]))

    def test_modules_with_a_class_that_starts_threads_are_named(self):
        code, names, _ = run({
            "tools/ui/CMakeLists.txt": "berth_module(tools/ui)\n", "tools/ui/b_test.cpp": "const http::IoThread io;\n"})
        self.assertEqual((code, names), (0, ["tools_ui"]))

    def test_a_file_belongs_to_the_innermost_module(self):
        code, names, _ = run({
            "kubernetes/api/CMakeLists.txt": "berth_module(kubernetes/api)\n", "kubernetes/api/wire/a.cpp": THREAD,
            "kubernetes/api/a_test.cpp": "", "kubernetes/CMakeLists.txt": "berth_module(kubernetes)\n", "kubernetes/b_test.cpp": ""})
        self.assertEqual((code, names), (0, ["kubernetes_api"]))

    def test_a_module_without_tests_is_an_error(self):
        code, names, error = run({"queue/CMakeLists.txt": "berth_module(queue)\n", "queue/a.cpp": THREAD})
        self.assertEqual((code, names), (1, []))
        self.assertIn("src/queue: starts threads", error)

    def test_demo_covers_some_modules_without_tests(self):
        code, names, _ = run({"tools/demo/CMakeLists.txt": "berth_module(tools/demo)\n", "tools/demo/a.cpp": THREAD})
        self.assertEqual((code, names), (0, []))


if __name__ == "__main__":
    unittest.main()
