#!/usr/bin/env python3
"""Records simulations with `berth simulate --recording`; `berth replay` must make the same decisions again.

    recording_test.py <path of the program berth> [<simulated time>]

The time is 20m by default.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

WORKLOAD = """apiVersion: simulation.berth.dev/v1alpha1
kind: Workload
duration: {duration}
nodes:
- {{name: node, count: 40, zones: [a, b], capacity: {{cpu: "8", memory: 64Gi}}, failures: {{meanTimeBetween: 1h, repair: 5m}}}}
pods:
- name: service
  arrivals: [{{rate: 1/s}}]
  lifetime: {{distribution: exponential, mean: 1m}}
  template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "2", memory: 1Gi}}}}}}]}}}}
- name: urgent
  arrivals: [{{rate: 0.2/s}}]
  lifetime: {{distribution: exponential, mean: 2m}}
  template: {{spec: {{priority: 100, containers: [{{name: c, resources: {{requests: {{cpu: "4", memory: 1Gi}}}}}}]}}}}
"""


class Simulation:
    def __init__(self, berth, folder, duration):
        self.berth, self.folder = berth, folder
        (folder / "workload.yaml").write_text(WORKLOAD.format(duration=duration))
        (folder / "config.yaml").write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")

    def run(self, *arguments):
        return subprocess.run([self.berth, *arguments], cwd=self.folder, capture_output=True, text=True)

    def simulate(self, *more):
        return self.run("simulate", "workload.yaml", "-o", "json", *more)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"error: {what}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def check_replay(simulation):
    plain = simulation.simulate()
    expect(plain.returncode == 0, "the simulation failed", plain)
    recorded = simulation.simulate("--recording", "recording")
    expect(recorded.returncode == 0, "the recorded simulation failed", recorded)
    expect(recorded.stdout == plain.stdout, "recording changes the result", recorded)
    result = json.loads(recorded.stdout)["runs"][0]
    replayed = simulation.run("replay", "recording", "-o", "json")
    expect(replayed.returncode == 0, "the replay differs", replayed)
    attempts = json.loads(replayed.stdout)["attempts"]
    expect(attempts == result["attempts"] and attempts > 100, f"{attempts} attempts, {result['attempts']} were simulated", replayed)
    print(f"{attempts} scheduling attempts are the same")


def check_errors(simulation):
    for what, wanted, more in [
            ("a directory with a recording", "recording", ["--recording", "recording"]),
            ("two configurations", "--config is given 2 times", ["--recording", "r", "--config", "config.yaml", "--config", "config.yaml"]),
            ("a checkpoint", "leave out --checkpoint", ["--recording", "r", "--checkpoint", "c"]),
    ]:
        done = simulation.simulate(*more)
        expect(done.returncode == 1 and wanted in done.stderr, f"{what}: expected an error with \"{wanted}\"", done)


def main():
    berth = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(berth, pathlib.Path(folder), sys.argv[2] if len(sys.argv) > 2 else "20m")
        check_replay(simulation)
        check_errors(simulation)


if __name__ == "__main__":
    main()
