#!/usr/bin/env python3
"""Compares `berth simulate` with reality: the same pods in the same order on the same nodes, with `berth scheduler` on a
sandbox in real time and on virtual time.

    simulate_test.py <path of the program berth>

Every node has another size. The simulation runs with several seeds, which only decide between equally good nodes; the
placements must be equal for all of them, so that reality has no choice either.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from running import Running  # noqa: E402 (needs the paths set above)

# name, CPUs, GiB, zone
NODES = [("n0", 7, 61, "a"), ("n1", 13, 37, "b"), ("n2", 23, 97, "a"), ("n3", 31, 53, "c"), ("n4", 43, 211, "b")]
# kind, pods, milli-CPUs, MiB, priority, spread over zones
KINDS = [("small", 9, 310, 1130, 0, False), ("spread", 6, 730, 2510, 0, True), ("large", 6, 2900, 19700, 0, False),
         ("huge", 3, 11700, 41300, 0, False), ("urgent", 2, 17300, 31700, 1000, False)]


def spec(kind):
    name, _, cpu, memory, priority, spread = kind
    out = {"priority": priority,
           "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}}}]}
    if spread:
        out["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": name}}}]
    return out


def workload():
    """JSON is YAML. Kinds take turns, one pod every two seconds."""
    pods, at = [], {kind[0]: [] for kind in KINDS}
    for number, name in enumerate(order()):
        at[name].append(f"{2 * number}s")
    for kind in KINDS:
        pods.append({"name": kind[0], "arrivals": [{"at": at[kind[0]]}],
                     "template": {"metadata": {"labels": {"app": kind[0]}}, "spec": spec(kind)}})
    return {"apiVersion": "simulation.berth.dev/v1alpha1", "kind": "Workload", "duration": "2m", "pods": pods,
            "nodes": [{"name": f"group-{name}", "count": 1, "capacity": {"cpu": str(cpu), "memory": f"{memory}Gi"},
                       "zones": [zone]} for name, cpu, memory, zone in NODES]}


def order():
    left = {kind[0]: kind[1] for kind in KINDS}
    names = []
    while any(left.values()):
        for kind in KINDS:
            if left[kind[0]] > 0:
                left[kind[0]] -= 1
                names.append(kind[0])
    return names


def simulate(berth, folder, seed):
    """The last node of each pod."""
    out = folder / f"placements-{seed}.csv"
    subprocess.run([berth, "simulate", "workload.yaml", "--seed", str(seed), "--placements", str(out)], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, newline="") as file:
        return {row["pod"].split("/")[1]: row["node"] for row in csv.DictReader(file)}


class Sandbox(Running):
    """With the nodes of NODES and without controllers."""

    def __init__(self, berth, folder):
        super().__init__(berth, folder, "--no-controllers")
        for name, cpu, memory, zone in NODES:
            self.add_node(f"group-{name}-0", cpu, memory, {"topology.kubernetes.io/zone": zone})
        self.start_scheduler()

    def place(self, kind, number):
        """Creates the pod and returns its node; None if it does not fit."""
        name = f"{kind[0]}-{number}"
        body = spec(kind)
        if body.pop("priority"):  # the API server sets it
            body["priorityClassName"] = "urgent"
        self.post("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": kind[0]}}, "spec": body})

        def decided():
            pod = self.get(f"/api/v1/namespaces/default/pods/{name}")
            rejected = any(c.get("reason") == "Unschedulable" for c in pod.get("status", {}).get("conditions", []))
            return (pod["spec"].get("nodeName"), rejected) if pod["spec"].get("nodeName") or rejected else None
        return self.wait(f"a decision about {name}", decided)[0]


def main():
    berth = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "workload.yaml").write_text(json.dumps(workload()))
        simulated = simulate(berth, folder, 1)
        for seed in range(2, 6):
            if (other := simulate(berth, folder, seed)) != simulated:
                sys.exit(f"error: equal scores decide; choose other sizes: {set(simulated.items()) ^ set(other.items())}")
        sandbox = Sandbox(berth, folder)
        try:
            kinds, numbers, real = {kind[0]: kind for kind in KINDS}, dict.fromkeys((kind[0] for kind in KINDS), 0), {}
            for kind in order():
                node = sandbox.place(kinds[kind], numbers[kind])
                if node:
                    real[f"{kind}-{numbers[kind]}"] = node
                numbers[kind] += 1
        finally:
            sandbox.stop()
        if real != simulated:
            sys.exit(f"error: reality and simulation differ: {sorted(set(real.items()) ^ set(simulated.items()))}")
        print(f"{len(real)} of {len(order())} pods have the same node in reality and in the simulation")


if __name__ == "__main__":
    main()
