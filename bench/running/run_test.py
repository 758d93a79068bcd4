#!/usr/bin/env python3
"""Runs bench/run on tiny clusters with a fake baseline and checks its output, independent of the measured times.

Usage: run_test.py BIN, the directory with bench_decisions and bench_queue.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from running import benchmarks, measuring  # noqa: E402

# Reads the cluster like the real scheduler and reports the time. With all nodes it leaves one pod
# unscheduled.
BASELINE = """#!/usr/bin/env python3
import json, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("a fake baseline"))
events = [json.loads(line) for line in open(sys.argv[sys.argv.index("--events") + 1])]
objects = [event["object"] for event in events]
waiting = [o for o in objects if o["kind"] == "Pod" and "nodeName" not in o["spec"]]
assert {event["type"] for event in events} <= {"ADDED", "MODIFIED", "DELETED"}
assert all(o["apiVersion"] and o["metadata"]["name"] for o in objects)
with open(sys.argv[0] + ".log", "a") as log:
    print(len(waiting), "--all-nodes" in sys.argv, file=log)
print(json.dumps({"value": 8, "unit": "decisions/s", "pods": len(waiting), "cpuMicros": 1000,
                  "feasible": 3, "unplaced": int("--all-nodes" in sys.argv)}))
"""
BIN = pathlib.Path()


def bench(*arguments):
    return subprocess.run([BENCH / "run", "--bin", BIN, *arguments], capture_output=True, text=True, check=False)


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.baseline = pathlib.Path(folder.name) / "baseline"
        self.baseline.write_text(BASELINE)
        self.baseline.chmod(0o755)

    def measure(self, names, *arguments):
        done = bench("--baseline", self.baseline, "--filter", names, "--pods", "20", "--rounds", "3", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_names_are_unique_and_cover_every_family(self):
        names = [line.split()[0] for line in bench("--list").stdout.splitlines()]
        self.assertEqual(sorted(set(names)), sorted(names))
        for name in ("decisions/5000/distinct", "decisions/100000/classes-50", "decisions/5000/suite/ns-selector/affinity",
                     "decisions/5000/batching/filling", "preemption/5000", "growth/nodes/classes-5", "queue/10000/add", "memory/5000/heap_per_node",
                     "start/5000/30000/rss_peak", "start/5000/150000/start_cpu", "end-to-end/5000/plain", "latency/5000/1000-per-second"):
            self.assertIn(name, names)

    def test_rounds_alternate_and_sides_are_compared(self):
        done = self.measure("^decisions/100/(classes-5|batching/filling)$", "--json")
        results = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["name"] for r in results], ["decisions/100/classes-5", "decisions/100/batching/filling"])
        for result in results:
            self.assertEqual((result["unit"], result["nodes"], result["pods"]), ("decisions/s", 100, 20))
            self.assertEqual((result["baseline"], result["baselineValue"]), ("kube-scheduler", 8))
            self.assertAlmostEqual(result["ratio"], result["value"] / 8, places=2)
            self.assertAlmostEqual(result["sides"][1]["cpuRatio"], 1000 / result["cpuMicros"], places=2)
            low, high = result["spread"]
            self.assertTrue(low <= result["value"] <= high)
            self.assertTrue(0 < result["p50Micros"] <= result["p99Micros"] <= result["p999Micros"] <= result["maxMicros"])
            self.assertGreater(result["peakMiB"], 0)
            self.assertEqual(result["machine"]["baseline"], "a fake baseline")
        turns = pathlib.Path(str(self.baseline) + ".log").read_text().splitlines()
        self.assertEqual(turns, ["20 False", "20 True"] * 6)
        self.assertRegex(done.stderr, r"decisions/100/classes-5: feasible nodes per decision: 3 for .*, \d\d+\.?\d* for berth")
        self.assertIn("decisions/100/classes-5: pods without a node: 1 for kube-scheduler, all nodes, 0 for berth", done.stderr)

    def test_every_workload_can_be_loaded_and_scheduled(self):
        program = BIN / "bench_decisions"
        size = ["--nodes", "100", "--pods", "5"]
        done = subprocess.run([program, *size, "--rounds", "1", "--json"], capture_output=True, text=True, check=True)
        results = {line["name"].removeprefix("decisions/100/"): line for line in map(json.loads, done.stdout.splitlines())}
        self.assertGreater(len(results), 30)
        for workload, result in results.items():
            unplaced = {"preemption": 5, "preemption-never": 5, "suite/unschedulable": 2}.get(workload, 0)
            self.assertEqual((workload, result["unplaced"]), (workload, unplaced))
            dump = subprocess.run([program, "--dump", "--workloads", workload, *size], capture_output=True, check=True).stdout
            objects = [json.loads(line)["object"] for line in dump.splitlines()]
            names = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects]
            self.assertEqual(len(set(names)), len(names), workload)
            self.assertEqual(sum(o["kind"] == "Node" for o in objects), 100 + (workload == "suite/churn"), workload)

    def test_a_program_with_several_output_lines_runs_once_per_round(self):
        results = [json.loads(line) for line in self.measure("^queue/10000/", "--json").stdout.splitlines()]
        self.assertIn("queue/10000/event-helps-none", [result["name"] for result in results])
        self.assertEqual({(result["unit"], result["better"]) for result in results}, {("ns", "less")})

    def test_tables_are_printed_as_text_and_markdown(self):
        table = self.measure("^decisions/100/distinct$").stdout
        self.assertIn("a fake baseline", table)
        self.assertRegex(table, r"\ndecisions/100/distinct .* decisions/s ")
        self.assertRegex(self.measure("^decisions/100/distinct$", "--markdown").stdout,
                         r"\n\| 100 nodes \|.*\n\|(---\|)+\n\| `distinct` \| [0-9,.]+ \|")

    def test_errors_are_reported(self):
        for arguments, text in ((["--filter", "("], "("), (["--rounds", "0"], "expected a number above 0"),
                                (["--filter", "^nothing$"], "no benchmark has such a name"),
                                (["--baseline", "/nowhere/baseline"], "/nowhere/baseline is missing: build it with")):
            done = bench(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
        self.baseline.write_text("#!/bin/sh\necho 'no such cluster' >&2; exit 3\n")
        done = bench("--baseline", self.baseline, "--filter", "^decisions/100/distinct$", "--pods", "5")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "decisions/100/distinct: .*exit code 3: no such cluster")

    def test_the_exponent_matches_the_points(self):
        self.assertEqual(measuring.exponent([(x, 3 * x ** 1.5) for x in (10, 100, 5000)]), 1.5)
        self.assertEqual(measuring.exponent([(0, 7), (1, 5), (10, 5), (100, 5)]), 0)

    def test_a_ratio_above_one_means_that_berth_is_better(self):
        self.assertEqual(measuring.ratio(20, 5, benchmarks.MORE), 4)
        self.assertEqual(measuring.ratio(20, 5, benchmarks.LESS), 0.25)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
