#!/usr/bin/env python3
"""Runs the smallest workload of every performance test of kube-scheduler (scheduler_perf) with `berth simulate --test`.

    performance_suite.py <path of the program berth> [--folder DIR] [--case NAME]

The test files are those of the Go module k8s.io/kubernetes that tests/go.mod names; they are read in the module cache
(`go mod download k8s.io/kubernetes@<release>` fetches them). Each run must end without an error and with a measurement;
some tests measure pods that fit nowhere. EXPECTED_FAILURES must match exactly: a case that begins to work is an error, too.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

# Case: (part of the error, why it cannot work).
EXPECTED_FAILURES = {
    "CompatibilityGroups": ("2 cannot allocate all claims", "needs the alpha feature DRADeviceCompatibilityGroups, which Berth "
                            "does not evaluate: such devices are not allocated"),
    "SchedulingWithResourceClaimTemplateListAttributes": (
        "unsupported attribute value", "needs the alpha feature DRAListTypeAttributes, which Berth does not evaluate"),
}


def module_folder():
    """The folder of scheduler_perf in the module cache."""
    tests = pathlib.Path(__file__).resolve().parents[1]
    release = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (tests / "go.mod").read_text(), re.MULTILINE).group(1)
    found = subprocess.run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@{release}"], cwd="/", check=True,
                           capture_output=True, text=True)
    return pathlib.Path(json.loads(found.stdout)["Dir"]) / "test/integration/scheduler_perf"


def tests_of(berth, file):
    """The smallest workload of each case: by the sum of its parameters, among those for integration tests if there are any."""
    listed = subprocess.run([berth, "simulate", str(file), "--test", "list", "-o", "json"], check=True,
                            capture_output=True, text=True)
    cases = {}
    for test in json.loads(listed.stdout):
        cases.setdefault(test["case"], []).append(test)
    for name, workloads in cases.items():
        marked = [test for test in workloads if "integration-test" in test["labels"]] or workloads
        yield name, min(marked, key=lambda test: sum(test["params"].values()))["workload"]


def run(berth, file, test):
    """The report, and the error instead of one."""
    done = subprocess.run([berth, "simulate", str(file), "--test", test, "-o", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    return json.loads(done.stdout)["runs"][0], ""


def problem(report):
    """Why the run is not what the test intends; empty: it is."""
    if not report["complete"]:
        return "not complete"
    if not report["measured"]:
        return "nothing was measured"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--folder", type=pathlib.Path, help="scheduler_perf; default: in the Go module cache")
    parser.add_argument("--case", help="only this one")
    options = parser.parse_args()
    berth = str(pathlib.Path(options.berth).resolve())
    folder = options.folder or module_folder()
    failures, count = {}, 0
    print(f"{'case':<52} {'nodes':>6} {'pods':>6} {'bound':>6} {'seconds':>8}")
    for file in sorted(folder.rglob("performance-config.yaml")):
        for case, workload in tests_of(berth, file):
            if options.case not in (None, case):
                continue
            count += 1
            started = time.monotonic()
            report, error = run(berth, file, f"{case}/{workload}")
            seconds = time.monotonic() - started
            error = error or problem(report)
            if error:
                failures[case] = error
                print(f"{case:<52} {error[:200]}")
                continue
            pods, bound = (sum(part[key] for part in report["measured"]) for key in ("pods", "bound"))
            print(f"{case:<52} {report['nodes']:>6} {pods:>6} {bound:>6} {seconds:>8.2f}", flush=True)
    expected = {case: part for case, (part, _) in EXPECTED_FAILURES.items() if options.case in (None, case)}
    unexpected = [f"{case}: {error}" for case, error in failures.items() if case not in expected or expected[case] not in error]
    unexpected += [f"{case}: works, but is in EXPECTED_FAILURES" for case in expected if case not in failures]
    print(f"{count - len(failures)} of {count} cases work, {len(failures)} fail")
    if count == 0:
        unexpected.append(f"no tests in {folder}")
    if unexpected:
        sys.exit("error: " + "\n  ".join(unexpected))


if __name__ == "__main__":
    main()
