#!/usr/bin/env python3
"""Compiles wrong_use.cpp unchanged, and once per CASE, which must fail with the text of the case.

    wrong_use_test.py COMPILER SOURCE_FOLDER
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

compiler, source = sys.argv[1], pathlib.Path(sys.argv[2])
code = pathlib.Path(__file__).with_name("wrong_use.cpp")
cases = re.findall(r"^#ifdef (\w+)  // CASE: (.+)$", code.read_text(), re.MULTILINE)


def compile_with(macro):
    command = [compiler, "-std=c++23", "-fsyntax-only", "-Werror=unused-result", f"-I{source}/src", str(code)]
    if macro:
        command.insert(1, f"-D{macro}")
    done = subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    return done.returncode, done.stderr


def error_of(case):
    macro, text = case
    code, errors = compile_with(macro)
    if macro is None:
        return None if code == 0 else f"the right use does not compile:\n{errors}"
    if code == 0:
        return f"{macro}: compiles"
    return None if text in errors else f"{macro}: fails, but not with \"{text}\":\n{errors}"


if len(cases) < 2:
    sys.exit("no cases found")
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [error for error in pool.map(error_of, [(None, None), *cases]) if error]
for error in wrong:
    print("FAILED", error)
print(f"{len(cases) + 1 - len(wrong)} passed, {len(wrong)} failed")
sys.exit(bool(wrong))
