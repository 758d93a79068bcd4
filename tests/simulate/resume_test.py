#!/usr/bin/env python3
"""Interrupts comparisons of `berth simulate --checkpoint` and continues them: the reports must have the same bytes as those
of an uninterrupted run. Checkpoints that are damaged, truncated or of another comparison must be refused.

    resume_test.py <path of the program berth> [<simulated time>]

The time, by default 2h, must be long enough that a configuration is not finished before a signal arrives.
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {{scoringStrategy: {{type: {strategy}, resources: [{{name: cpu, weight: {weight}}}]}}}}
"""
NAMES = ["a.yaml", "b.yaml", "c.yaml"]
WORKLOAD = """apiVersion: simulation.berth.dev/v1alpha1
kind: Workload
duration: {duration}
nodes:
- {{name: node, count: 20, zones: [a, b], capacity: {{cpu: "16", memory: 64Gi}}}}
pods:
- name: p
  arrivals: [{{rate: 2/s}}]
  lifetime: {{distribution: exponential, mean: 1m}}
  template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "2", memory: 1Gi}}}}}}]}}}}
"""
CHECKPOINT = "run.checkpoint"
# The log of a scheduler that begins to simulate a configuration.
STARTED = '"Caches are synced"'


class Comparison:
    def __init__(self, berth, folder, duration):
        self.berth, self.folder = berth, folder
        (folder / "workload.yaml").write_text(WORKLOAD.format(duration=duration))
        for number, name in enumerate(NAMES):
            strategy = "MostAllocated" if number == 1 else "LeastAllocated"
            (folder / name).write_text(CONFIG.format(strategy=strategy, weight=number + 1))

    def command(self, *more):
        configs = [part for name in NAMES for part in ("--config", name)]
        return [self.berth, "simulate", "workload.yaml", *configs, "-o", "json", "--report", "report.html", *more]

    def run(self, *more):
        """Exit code, both reports, and errors."""
        (self.folder / "report.html").unlink(missing_ok=True)
        done = subprocess.run(self.command(*more), cwd=self.folder, capture_output=True, text=True)
        html = self.folder / "report.html"
        return done.returncode, (done.stdout, html.read_text() if html.exists() else ""), done.stderr

    def interrupt(self, number, *more):
        """Sends the signal once the checkpoint has a finished configuration. Returns exit code and errors."""
        running = subprocess.Popen(self.command("--checkpoint", CHECKPOINT, *more), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        empty, deadline = None, time.monotonic() + 60
        while running.poll() is None and time.monotonic() < deadline:
            size = (self.folder / CHECKPOINT).stat().st_size if (self.folder / CHECKPOINT).exists() else 0
            empty = empty or size
            if empty and size > empty:
                break
            time.sleep(0.002)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
        return running.returncode, errors


def expect(condition, what):
    if not condition:
        sys.exit(f"error: {what}")


def refuses(comparison, reason, *more):
    code, reports, errors = comparison.run("--checkpoint", CHECKPOINT, *more)
    expect(code == 1 and not reports[0], f"exit code {code} instead of a refusal: {reason}")
    expect(reason in errors, f"expected {reason!r} in {errors!r}")


def check_interruptions(comparison, whole):
    file = comparison.folder / CHECKPOINT
    for number in (signal.SIGINT, signal.SIGKILL):
        file.unlink(missing_ok=True)
        code, errors = comparison.interrupt(number)
        if number == signal.SIGINT:
            expect(code == 2, f"exit code {code} after SIGINT: {errors}")
            expect("of 3 configurations are finished" in errors and "--resume" in errors, f"no advice in {errors!r}")
        else:
            expect(code == -signal.SIGKILL, f"exit code {code} after SIGKILL: {errors}")
        expect(list(comparison.folder.glob(CHECKPOINT + "*")) == [file], "temporary files remain")
        code, reports, errors = comparison.run("--checkpoint", CHECKPOINT, "--resume")
        expect(code == 0, f"exit code {code} after --resume: {errors}")
        expect(reports == whole, "the reports after --resume differ from those of an uninterrupted run")
    code, reports, errors = comparison.run("--checkpoint", CHECKPOINT, "--resume")
    expect(code == 0 and reports == whole, "a finished comparison gives another report")
    expect(STARTED not in errors, f"finished configurations were run again: {errors}")


def check_refusals(comparison):
    folder, file = comparison.folder, comparison.folder / CHECKPOINT
    content = file.read_bytes()
    refuses(comparison, "exists; add --resume to continue, or remove the file")
    refuses(comparison, "seed: 1 in the file, 2 now", "--resume", "--seed", "2")
    refuses(comparison, "feature gates:  in the file, GenericWorkload=true now", "--resume", "--feature-gates", "GenericWorkload=true")
    refuses(comparison, "configuration 4: a.yaml (sha256 ", "--resume", "--config", "a.yaml")
    refuses(comparison, "leave out --placements", "--resume", "--placements", "x.csv")
    for name in ("workload.yaml", "b.yaml"):
        original = (folder / name).read_text()
        (folder / name).write_text(original + "# changed\n")
        refuses(comparison, f": {name} (sha256 ", "--resume")
        (folder / name).write_text(original)
    for damaged in (content[:-1], content[:len(content) // 2], content[:40], content.replace(b"a.yaml", b"x.yaml", 1)):
        file.write_bytes(damaged)
        refuses(comparison, "damaged", "--resume")
        expect(file.read_bytes() == damaged, "a refusal has changed the file")
    file.write_bytes(b"")
    refuses(comparison, "expected a checkpoint of this version", "--resume")
    file.write_bytes(content.replace(b"checkpoint 1\n", b"checkpoint 0\n", 1))
    refuses(comparison, "got \"berth-simulate-checkpoint 0\"", "--resume")
    file.unlink()
    refuses(comparison, f"--resume: open {CHECKPOINT}: no such file or directory", "--resume")


def main():
    berth = str(pathlib.Path(sys.argv[1]).resolve())
    duration = sys.argv[2] if len(sys.argv) > 2 else "2h"
    with tempfile.TemporaryDirectory() as name:
        comparison = Comparison(berth, pathlib.Path(name), duration)
        code, whole, errors = comparison.run()
        expect(code == 0 and errors.count(STARTED) == len(NAMES), f"exit code {code}: {errors}")
        check_interruptions(comparison, whole)
        check_refusals(comparison)
        code, _, errors = comparison.run("--resume")
        expect(code == 1 and "--resume: needs --checkpoint" in errors, f"--resume alone: {errors}")
        print("3 configurations, interrupted twice: the same reports")


if __name__ == "__main__":
    main()
