"""Runs rounds of child processes and aggregates their results."""
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from running import benchmarks

# Optional fields besides the value, shown as medians over the rounds.
SHOWN = ("wallSeconds", "cpuSeconds", "cpuMicros", "p50Micros", "p99Micros", "p999Micros", "maxMicros", "unplaced",
         "feasible", "pods", "peakMiB")


class Failure(Exception):
    """A benchmark failed."""


class Context:
    """Paths of programs, and files that they share."""

    def __init__(self, bin_folder, baseline, real, pods):
        self.bin, self.baseline, self._real, self.pods = bin_folder, baseline, real, pods
        self._folder = tempfile.TemporaryDirectory(prefix="berth-bench-")
        self._made = {}

    @property
    def real(self):
        """The tests' control plane, which contains kube-scheduler; built if it is missing."""
        if self._real is None:
            build = pathlib.Path(__file__).resolve().parents[2] / "tests" / "cluster" / "build"
            self._real = subprocess.run([build], check=True, capture_output=True, text=True).stdout.strip()
        return self._real

    def file(self, text, suffix):
        return self._make(text, lambda file: file.write(text.encode()), suffix)

    def output_of(self, argv):
        """A file with the output of a program."""
        def write(file):
            done = subprocess.run(argv, stdout=file, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0:
                raise Failure(f"{shlex.join(argv)}: {done.stderr.decode().strip()}")
        return self._make(tuple(argv), write, ".jsonl")

    def _make(self, key, write, suffix):
        if key not in self._made:
            path = pathlib.Path(self._folder.name) / f"{len(self._made)}{suffix}"
            with path.open("wb") as file:
                write(file)
            self._made[key] = path
        return self._made[key]

    def forget(self):
        """Removes a benchmark's files after its end, because clusters are large."""
        for path in self._made.values():
            path.unlink(missing_ok=True)
        self._made.clear()


def run_child(argv, one_line=True):
    """The output lines of a program as objects. A single line gets the process's peak memory, wall and CPU time
    unless it contains them; with several lines none represents the whole process."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise Failure(f"{argv[0]}: {error.strerror}") from error
        with child.stdout:
            text = child.stdout.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        error_text = errors.read().decode(errors="replace").strip()
    if child.returncode != 0:
        raise Failure(f"{shlex.join(argv)}: exit code {child.returncode}: {error_text or text.strip()}")
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise Failure(f"{shlex.join(argv)}: not JSON: {line[:200]}") from error
    for line in lines if one_line else ():
        # at least this process's own value: the child began as its copy
        line.setdefault("peakMiB", usage.ru_maxrss / 1024)
        line.setdefault("wallSeconds", time.monotonic() - began)
        line.setdefault("cpuSeconds", usage.ru_utime + usage.ru_stime)
    return lines


class Runner:
    """Measures benchmarks in rounds; each round runs all sides of a benchmark."""

    def __init__(self, context, rounds, with_baselines, report):
        self.context, self.rounds, self.with_baselines, self.report = context, rounds, with_baselines, report
        self._shared = {}  # output of programs that measure several benchmarks in one run

    def sides(self, benchmark):
        return benchmark.sides if self.with_baselines else benchmark.sides[:1]

    def measure(self, benchmark):
        try:
            if isinstance(benchmark, benchmarks.Growth):
                return self._growth(benchmark)
            return self._benchmark(benchmark)
        finally:
            self.context.forget()

    def _benchmark(self, benchmark):
        sides = self.sides(benchmark)
        runs = [[] for _ in sides]
        for number in range(self.rounds):
            for side, found in zip(sides, runs):
                self.report(f"{benchmark.name}: round {number + 1} of {self.rounds}, {side.label}")
                found.append(self._one(benchmark, side, number))
        summaries = [summary(side.label, found) for side, found in zip(sides, runs)]
        return result(benchmark, summaries)

    def _one(self, benchmark, side, number):
        argv = side.argv(self.context)
        key = (tuple(argv), number)
        if not benchmark.line:
            lines = run_child(argv)
        else:
            if key not in self._shared:
                self._shared[key] = run_child(argv, one_line=False)
            lines = [line for line in self._shared[key] if benchmark.line.items() <= line.items()]
        if len(lines) != 1 or not {"value", "unit"} <= lines[0].keys():
            raise Failure(f"{shlex.join(argv)}: expected one line with value and unit, got {len(lines)} lines")
        return lines[0]

    def _growth(self, growth):
        measured = []
        for x, benchmark in growth.points:
            self.report(f"{growth.name}: {benchmark.name}")
            measured.append((x, self._benchmark(benchmark)))
            self.context.forget()
        labels = [side["label"] for side in measured[0][1]["sides"]]
        sides = []
        for i, label in enumerate(labels):
            points = [[x, one["sides"][i]["cpuMicros"]] for x, one in measured]
            sides.append({"label": label, "value": exponent(points), "points": points})
        return {"name": growth.name, "value": sides[0]["value"], "unit": "exponent", **growth.parameters,
                "points": sides[0]["points"], "sides": sides, **baseline_fields(sides, benchmarks.LESS)}


def exponent(points):
    """The exponent of the best power law, by least squares on the logarithms; ignores points at 0."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*logs))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)
    return round(slope, 3)


def summary(label, lines):
    """Medians over the rounds of one side, and the spread of its values."""
    values = [line["value"] for line in lines]
    out = {"label": label, "value": statistics.median(values), "unit": lines[0]["unit"],
           "spread": [min(values), max(values)]}
    for field in SHOWN:
        found = [line[field] for line in lines if field in line]
        if found:
            out[field] = statistics.median(found)
    return out


def ratio(berth, baseline, better):
    """The ratio to the baseline: above 1 if Berth is better."""
    above, below = (berth, baseline) if better == benchmarks.MORE else (baseline, berth)
    return round(above / below, 3) if below else None


def baseline_fields(sides, better):
    if len(sides) < 2:
        return {}
    return {"baseline": sides[1]["label"], "baselineValue": sides[1]["value"],
            "ratio": ratio(sides[0]["value"], sides[1]["value"], better)}


def result(benchmark, sides):
    berth = sides[0]
    out = {"name": benchmark.name, "value": berth["value"], "unit": berth["unit"], "better": benchmark.better,
           **benchmark.parameters, **{key: value for key, value in berth.items() if key not in ("label", "value", "unit")},
           **baseline_fields(sides, benchmark.better)}
    for side in sides[1:]:
        side["ratio"] = ratio(berth["value"], side["value"], benchmark.better)
        if side.get("cpuMicros") and berth.get("cpuMicros"):
            side["cpuRatio"] = round(side["cpuMicros"] / berth["cpuMicros"], 3)
    out["sides"] = sides
    return out


def progress(total):
    """A function that prints the progress to stderr."""
    state = {"number": 0}

    def report(text):
        print(f"[{state['number']}/{total}] {text}", file=sys.stderr, flush=True)

    def following():
        state["number"] += 1
    report.following = following
    return report
