#!/usr/bin/env python3
"""Records a scheduler that works with an extender, preempts and fails, and replays the recording.

    replay_test.py <path of the program berth> [--pods N]

The replay must make the same decisions to the end of the recording. Secrets must not be in it. A damaged recording is
replayed up to the damage, one with a changed decision is reported, and another configuration is compared with it.
"""

import argparse
import http.server
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from running import Running  # noqa: E402 (needs the paths set above)

PODS = "/api/v1/namespaces/default/pods"
SECRET = "very-secret-value"


class Extender(http.server.BaseHTTPRequestHandler):
    """Rejects nodes whose names end with 7, and prefers those with a 3."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = asked["NodeNames"] if "NodeNames" in asked else asked["nodenames"]
        if self.path.endswith("/filter"):
            answer = {"nodenames": [n for n in names if not n.endswith("7")],
                      "failedNodes": {n: "no license" for n in names if n.endswith("7")}}
        else:
            answer = [{"host": n, "score": 10 if "3" in n else 1} for n in names]
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def config(port, weight):
    return f"""apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: true, leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 1s}}
clientConnection: {{kubeconfig: kubeconfig}}
podInitialBackoffSeconds: 1
profiles:
- plugins: {{multiPoint: {{enabled: [{{name: NodeResourcesFit, weight: {weight}}}]}}}}
""" + (f"""extenders:
- urlPrefix: http://127.0.0.1:{port}
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 1
  nodeCacheCapable: true
  managedResources: [{{name: example.com/license}}]
""" if port else "")


def pod(rng, number):
    requests = {"cpu": f"{rng.choice([250, 500, 1000, 2000])}m", "memory": f"{rng.choice([64, 256, 1024])}Mi"}
    if number % 9 == 0:
        requests["example.com/license"] = "1"
    if number % 50 == 0:
        requests["cpu"] = "1000"  # fits nowhere
    spec = {"containers": [{"name": "c", "image": "x", "env": [{"name": "PASSWORD", "value": SECRET}],
                            "resources": {"requests": requests, "limits": {
                                k: v for k, v in requests.items() if "/" in k}}}]}
    if number % 11 == 0:
        spec["priorityClassName"] = "urgent"
    if number % 5 == 0:
        spec["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                                              "labelSelector": {"matchLabels": {"app": "spread"}}}]
    if number % 7 == 0:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"only": f"o{number % 3}"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    labels = {"app": "spread" if number % 5 == 0 else "plain"}
    if number % 7 == 0:
        labels["only"] = f"o{number % 3}"
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {"name": f"p{number}", "labels": labels, "annotations": {"example.com/token": SECRET}}}


def work(running, pods, seed=1):
    """Creates pods on a cluster that becomes full, deletes some, and changes nodes."""
    rng = random.Random(seed)
    alive = []
    for number in range(1, pods + 1):
        running.post(PODS, pod(rng, number))
        alive.append(f"p{number}")
        if number % 3 == 0 and len(alive) > 100:
            delete(running, alive.pop(rng.randrange(len(alive))))
        if number % 40 == 0:
            running.send("PATCH", f"/api/v1/nodes/n{rng.randrange(20)}",
                         {"metadata": {"labels": {"changed": str(number)}},
                          "spec": {"unschedulable": number % 80 == 0}}, "application/merge-patch+json")
        if number % 100 == 0:
            running.add_node(f"extra{number}", 4, 32, {"zone": "z1", "changed": "0"})


# The scheduler may have evicted the pod.
def delete(running, name):
    try:
        running.send("DELETE", f"{PODS}/{name}")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


def replay(berth, *argv, code=0):
    done = subprocess.run((berth, "replay", *map(str, argv)), capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        sys.exit(f"error: replay {argv}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout


def lines_of(recording):
    return subprocess.run(["zstd", "-dcq", *sorted(map(str, recording.glob("*.zst")))], capture_output=True,
                          check=True).stdout.decode()


def write_recording(folder, lines):
    folder.mkdir()
    subprocess.run(["zstd", "-q", "--check", "--stream-size", str(len(lines.encode())), "-o", str(folder / "000001.jsonl.zst")],
                   input=lines.encode(), check=True)


def check(berth, folder, port, pods):
    recording = folder / "recording"
    result = json.loads(replay(berth, recording, "-o", "json"))
    if not result["same"] or result.get("endedBy") or result["attempts"] < pods / 2:
        sys.exit(f"error: the replay is not complete: {result}")
    lines = lines_of(recording)
    if SECRET in lines:
        sys.exit("error: the recording contains a secret")
    for what, text in (("a reply of the extender", '"reply":'), ("a preemption", '"victims":'), ("a leader", '"lead"')):
        if text not in lines:
            sys.exit(f"error: the recording has not {what}")

    # A changed decision is found.
    at = lines.index('"result":"scheduled","node":"n', len(lines) // 2)
    changed = folder / "changed"
    write_recording(changed, lines[:at] + lines[at:].replace('"node":"n', '"node":"x', 1))
    if (difference := json.loads(replay(berth, changed, "-o", "json", code=1))["difference"])["what"] != "scheduling attempt":
        sys.exit(f"error: unexpected difference {difference}")

    # Damage is reported, and everything before it is used.
    damaged = folder / "damaged"
    shutil.copytree(recording, damaged)
    file = sorted(damaged.glob("*.zst"))[-1]
    content = bytearray(file.read_bytes())
    content[len(content) * 3 // 4] ^= 0xff
    file.write_bytes(content)
    part = json.loads(replay(berth, damaged, "-o", "json"))
    if not part["same"] or not part.get("endedBy") or not 0 < part["attempts"] < result["attempts"]:
        sys.exit(f"error: unexpected replay of damage: {part}")

    # The cluster before a decision, in which the same decision is made again.
    attempts = [a for line in lines.splitlines() if '"attempts"' in line for a in json.loads(line)["attempts"]]
    failed = next(a for a in reversed(attempts) if a["result"] == "unschedulable" and "victims" not in a)
    number = sum(a["pod"] == failed["pod"] for a in attempts[:attempts.index(failed) + 1])
    (folder / "cluster.json").write_text(replay(berth, recording, "--pod", failed["pod"], "--attempt", number))
    (folder / "recorded.yaml").write_text(replay(berth, recording, "--print-config"))
    cluster = json.loads((folder / "cluster.json").read_text())["items"]
    waiting = [o["metadata"]["name"] for o in cluster if o["kind"] == "Pod" and not o["spec"].get("nodeName")
               and not o.get("status", {}).get("nominatedNodeName")]
    if [f"default/{name}" for name in waiting] != [failed["pod"]]:
        sys.exit(f"error: the cluster of {failed['pod']} has the waiting pods {waiting}")
    explained = subprocess.run((berth, "explain", "--offline", "--config", folder / "recorded.yaml", "-o", "json",
                                folder / "cluster.json", "--pod", failed["pod"]), capture_output=True, text=True, timeout=60)
    if explained.returncode > 1 or failed["message"].split(" preemption:")[0] not in explained.stdout:
        sys.exit(f"error: explained: {explained.stdout}{explained.stderr}, recorded: {failed}")
    replay(berth, recording, "--pod", "nobody", code=1)
    replay(berth, recording, "--pod", failed["pod"], "--attempt", 1000, code=1)

    # Another configuration.
    (folder / "other.yaml").write_text(config(0, 50))
    other = json.loads(replay(berth, recording, "--config", folder / "other.yaml", "-o", "json"))
    print(f"{result['attempts']} attempts repeated in {result['steps']} steps, {result['clockDeviations']} deviations; "
          f"other configuration: {json.dumps(other)[:300]}")


def run(berth, pods):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Extender)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        running = Running(berth, folder, "--pod-start", "0")
        try:
            for number in range(20):
                running.add_node(f"n{number}", 4, 32, {"zone": f"z{number % 3}"})
            for number in range(20):
                running.send("PATCH", f"/api/v1/nodes/n{number}/status", {"status": {
                    kind: {"example.com/license": "1000"} for kind in ("capacity", "allocatable")}},
                             "application/merge-patch+json")
            (folder / "config.yaml").write_text(config(server.server_port, 1))
            running.start("scheduler", "--config", "config.yaml", "--secure-port=0", "--berth-http-address=127.0.0.1:0",
                          "--berth-recording-dir", "recording")
            scheduler = running.children[-1]
            work(running, pods)
            running.wait("the last pod", lambda: all(
                p["spec"].get("nodeName") or any(c["type"] == "PodScheduled" for c in p.get("status", {}).get("conditions", []))
                for p in running.get(PODS)["items"]))
            # Pods that must preempt others.
            for number in range(pods + 1, pods + 6):
                running.post(PODS, pod(random.Random(2), number) | {"spec": {"priorityClassName": "urgent", "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "2"}}}]}})
            running.wait("the urgent pods", lambda: all(
                running.get(f"{PODS}/p{number}")["spec"].get("nodeName") for number in range(pods + 1, pods + 6)))
            scheduler.terminate()
            if scheduler.wait(30) != 0:
                sys.exit(f"error: the scheduler failed\n{(folder / 'log').read_text()[-3000:]}")
            if os.environ.get("KEEP_RECORDING"):
                shutil.copytree(folder / "recording", os.environ["KEEP_RECORDING"], dirs_exist_ok=True)
            check(berth, folder, server.server_port, pods)
        finally:
            running.stop()
            server.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--pods", type=int, default=600)
    arguments = parser.parse_args()
    run(os.path.abspath(arguments.berth), arguments.pods)
