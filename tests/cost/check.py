#!/usr/bin/env python3
"""Cost of a decision independent of the machine's speed: instructions per decision, and per member of a pod group from the
queue to its binding, counted by callgrind and compared with costs.json. A value that is off by more than the tolerance
fails, in either direction: what has become cheaper is to be recorded, so that it stays cheap. LoadAware with its forecast
must also add at most 5 percent to a decision.

    tests/cost/check.py build/bin             compare
    tests/cost/check.py build/bin --update    record

Callgrind emulates a processor with at most AVX2, and counts a copy by `rep movsb` per byte."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RECORDED = pathlib.Path(__file__).with_name("costs.json")
TOLERANCE = 0.08
SKIPPED = 77
PODS = 150
RECORD_BYTES = 128 << 10  # soon full, so that each record takes the memory of an older one
# (workload, nodes, flags): without cache, with the equivalence cache, and with plugins that count pods.
CASES = [
    ("distinct", 1000, ()),
    ("distinct", 5000, ()),
    ("classes-1", 1000, ()),
    ("classes-5", 5000, ()),
    ("classes-5", 5000, ("--no-equivalence-cache",)),
    ("spread", 1000, ()),
    ("default-spread", 1000, ()),
    ("preferred-affinity", 1000, ()),
    ("csi-volumes", 1000, ()),
    ("distinct", 5000, ("--config=load_aware.yaml",)),
    ("distinct", 5000, ("--config=load_aware_forecast.yaml",)),
]
# (workload, nodes, pods): members of one group; in racks, each rack is tried.
GROUP_CASES = [
    ("gang-1000", 1000, 500),
    ("gangs-64-in-rack", 1000, 64),
]
# The cost of an optional part of a decision, at most as a share of the decision without it: (with, without, limit).
SHARES = [
    ("5000/distinct/load_aware", "5000/distinct", 0.05),
    ("5000/distinct/load_aware_forecast", "5000/distinct", 0.05),
]


def name_of(workload, nodes, flags):
    parts = (flag.removeprefix("--config=").removesuffix(".yaml").lstrip("-") for flag in flags)
    return "/".join([str(nodes), workload, *parts])


def has_avx2():
    return any(re.search(r"\bavx2\b", line) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines())


def instructions(function, program, *arguments):
    """Counted within a function and what it calls."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={function}",
                   str(program.resolve()), "--rounds", "1", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, cwd=RECORDED.parent,
                             env={**os.environ, "GLIBC_TUNABLES": "", "MALLOC_CONF": ""})
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M).group(1))


def instructions_per_decision(programs, workload, nodes, flags):
    total = instructions("*Deciding::Take*", programs / "bench_decisions", "--nodes", str(nodes), "--workloads", workload,
                         "--pods", str(PODS), f"--record-bytes={RECORD_BYTES}", *flags)
    return total // (2 * PODS)  # one round warms up


def instructions_per_member(programs, workload, nodes, pods):
    return instructions("*Scheduler::DoWork*", programs / "bench_groups", "--nodes", str(nodes), "--workloads", workload,
                        "--pods", str(pods), "--warm-up", "0") // pods


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="directory of bench_decisions and bench_groups of a release build")
    parser.add_argument("--update", action="store_true", help="record the costs as they are now")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None or not has_avx2():
        print("skipped: needs valgrind (script/setup) and a processor with AVX2, which the recorded costs are of")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        decisions = pool.map(lambda case: instructions_per_decision(arguments.programs, *case), CASES)
        members = pool.map(lambda case: instructions_per_member(arguments.programs, *case), GROUP_CASES)
        costs = dict(zip([name_of(*case) for case in CASES], decisions))
        costs |= zip([f"groups/{nodes}/{workload}" for workload, nodes, _ in GROUP_CASES], members)
    if arguments.update:
        RECORDED.write_text(json.dumps(costs, indent=2) + "\n")
        return 0
    recorded = json.loads(RECORDED.read_text())
    failed = False
    print(f"{'instructions per decision':<40}{'recorded':>12}{'now':>12}{'change':>9}")
    for name, cost in costs.items():
        expected = recorded.get(name)
        change = cost / expected - 1 if expected else float("inf")
        off = abs(change) > TOLERANCE
        failed = failed or off
        print(f"{name:<40}{expected or '-':>12}{cost:>12}{change:>+9.1%}{'  <--' if off else ''}")
    for name, base, limit in SHARES:
        share = costs[name] / costs[base] - 1
        off = share > limit
        failed = failed or off
        print(f"{name} adds {share:.1%} to {base}, at most {limit:.0%}{'  <--' if off else ''}")
    for name in recorded.keys() - costs.keys():
        failed = True
        print(f"{name} is recorded and no longer measured")
    if failed:
        print(f"off by more than {TOLERANCE:.0%}, or above a limit: find out why; if it is right, record it with "
              "--update")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
