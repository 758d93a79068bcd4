#!/usr/bin/env python3
"""Runs `berth rebalance` on a sandbox whose nodes have the load of their pods.

    rebalance_test.py <path of the program berth>

A server with the query API of Prometheus computes the load from the pods on each node (labels load: cores, and receives:
megabytes per second) and from a background load that the test sets. The scheduler uses LoadAware with the same server.
"""

import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402 (needs the path set above)

CORES = 10
LINK = 1250e6  # bytes per second
SCHEDULER_POLLS = 3  # seconds until the scheduler has the current load


class Prometheus:
    """Answers the queries of LoadAware and of berth rebalance."""

    def __init__(self, pods):
        self.pods = pods  # returns (name, node, cores, megabytes per second) of each pod
        self.nodes = []
        self.background = {}  # cores by node
        self.received = {}  # share of the link by node, without pods
        self.up = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                query = urllib.parse.parse_qs(body)["query"][0]
                if not outer.up:
                    self.send_error(503)
                    return
                answer = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
                    {"metric": labels, "value": [time.time(), str(value)]} for labels, value in outer.answer(query)]}})
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, query):
        pods = self.pods()
        if "container_cpu_usage_seconds_total" in query:
            return [({"namespace": "default", "pod": name}, cores) for name, _, cores, _ in pods]
        if "container_memory_working_set_bytes" in query:
            return [({"namespace": "default", "pod": name}, 1 << 28) for name, _, _, _ in pods]
        if "container_network_receive_bytes_total" in query:
            return [({"namespace": "default", "pod": name}, megabytes * 1e6) for name, _, _, megabytes in pods]
        if "min_over_time" not in query and ("timestamp(" in query or "count_over_time" in query):
            value = dict.fromkeys(self.nodes, 0 if "timestamp(" in query else 20)
        elif "node_memory_MemAvailable_bytes" in query:
            value = dict.fromkeys(self.nodes, 0.2)
        elif query.startswith(("min by", "max by")) and "(node_network_speed_bytes > 0) and" in query:
            value = dict.fromkeys(self.nodes, LINK)
        elif "node_network_receive_bytes_total" in query:
            value = {node: self.received.get(node, 0) for node in self.nodes}
            for _, node, _, megabytes in pods:
                value[node] += megabytes * 1e6 / LINK
        else:
            assert "node_cpu_seconds_total" in query, query
            value = {node: self.background.get(node, 0) / CORES for node in self.nodes}
            for _, node, cores, _ in pods:
                value[node] += cores / CORES
        return [({"node": node}, value[node]) for node in self.nodes]


class Run:
    def __init__(self, berth, directory):
        self.berth = berth
        self.directory = pathlib.Path(directory)
        self.children = {}
        self.failures = 0
        self.api = f"http://127.0.0.1:{free_port()}"
        self.http = free_port()

    def start(self, name, *arguments):
        log = open(self.directory / f"{name}.log", "a")
        self.children[name] = subprocess.Popen([self.berth, *arguments], cwd=self.directory, stdout=log, stderr=log)

    def stop(self):
        for child in reversed(list(self.children.values())):
            child.terminate()
            child.wait()

    def get(self, path, body=None, method=None):
        url = path if path.startswith("http") else self.api + path
        request = urllib.request.Request(url, data=body and json.dumps(body).encode(), method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def check(self, what, fine, context=""):
        print("ok:" if fine else "FAILED:", what)
        if not fine:
            self.failures += 1
            print(context)

    def wait_for(self, what, condition, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if condition():
                    return self.check(what, True)
            except (urllib.error.URLError, OSError, ValueError, LookupError):
                pass
            time.sleep(0.2)
        self.check(what, False, f"not within {seconds} s")

    # --- the cluster ---

    def pods(self, app=None):
        """uid -> (name, node) of running pods."""
        items = self.get("/api/v1/namespaces/default/pods")["items"]
        return {item["metadata"]["uid"]: (item["metadata"]["name"], item["spec"]["nodeName"]) for item in items
                if item["spec"].get("nodeName") and "deletionTimestamp" not in item["metadata"]
                and item["status"].get("phase") == "Running" and app in (None, item["metadata"]["labels"]["app"])}

    def loads(self):
        items = self.get("/api/v1/namespaces/default/pods")["items"]
        return [(item["metadata"]["name"], item["spec"]["nodeName"], float(item["metadata"]["labels"]["load"]),
                 float(item["metadata"]["labels"].get("receives", 0)))
                for item in items if item["spec"].get("nodeName") and item["status"].get("phase") == "Running"]

    def deployment(self, app, replicas, cores, megabytes=0):
        labels = {"app": app, "load": str(cores), "receives": str(megabytes)}
        self.get("/apis/apps/v1/namespaces/default/deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]}}}})
        self.wait_for(f"the pods of {app} run", lambda: len(self.pods(app)) == replicas)

    def rebalance(self, *arguments):
        return subprocess.run([self.berth, "rebalance", *self.flags, *arguments], cwd=self.directory, text=True,
                              capture_output=True, timeout=60)

    def set_up(self):
        (self.directory / "nodes.yaml").write_text(f"groups:\n- {{count: 3, name: worker-#, cpu: {CORES}, memory: 64Gi}}\n")
        port = self.api.rsplit(":", 1)[1]
        self.start("sandbox", "sandbox", f"--port={port}", "--nodes-file=nodes.yaml", "--pod-start=0.1", "--pod-stop=0.1",
                   "--kubeconfig=kubeconfig")
        self.wait_for("the sandbox runs", lambda: len(self.get("/api/v1/nodes")["items"]) == 3)
        self.prometheus = Prometheus(self.loads)
        self.prometheus.nodes = [node["metadata"]["name"] for node in self.get("/api/v1/nodes")["items"]]
        (self.directory / "config.yaml").write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False}, "profiles": [{
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": [{"name": "LoadAware", "weight": 20}]}},
                "pluginConfig": [{"name": "LoadAware", "args": {
                    "prometheusAddress": "main", "signals": [
                        {"name": "cpu", "window": "2s"},
                        {"name": "network-receive", "window": "2s", "weight": 1, "threshold": 80}]}}]}]}))
        (self.directory / "sources.yaml").write_text(json.dumps({"sources": [
            {"name": "main", "addresses": [self.prometheus.url], "pollInterval": "1s", "timeout": "2s"}]}))
        self.start("scheduler", "scheduler", "--config=config.yaml", "--kubeconfig=kubeconfig", "--secure-port=0",
                   "--berth-http-address=127.0.0.1:0", "--berth-metric-sources=sources.yaml")
        self.flags = ["--config=config.yaml", "--kubeconfig=kubeconfig", "--berth-metric-sources=sources.yaml",
                      "--cool-down=3s", "--window=1m"]

    # --- the checks ---

    def test(self):
        self.set_up()
        self.deployment("web", 3, 2.5)
        time.sleep(4)  # the cool-down of new pods
        before = self.pods()
        hot = sorted(node for _, node in before.values())[0]
        self.prometheus.background[hot] = 6.8 if sum(node == hot for _, node in before.values()) == 1 else 4.5
        time.sleep(SCHEDULER_POLLS)

        dry = self.rebalance("--once", "-o", "json")
        plan = json.loads(dry.stdout or "{}")
        moves = plan.get("moves", [])
        self.check("a dry run proposes a move from the hot node", len(moves) == 1 and moves[0]["from"] == hot
                   and moves[0]["result"] == "dry-run", dry.stdout + dry.stderr)
        self.check("a dry run evicts nothing", self.pods() == before)

        self.prometheus.up = False
        stopped = self.rebalance("--once", "--dry-run=false", "--measurement-wait=3s")
        self.check("without signals nothing moves", stopped.returncode == 2 and "No pod is moved: the signal" in stopped.stdout,
                   stopped.stdout + stopped.stderr)
        self.check("and nothing is evicted", self.pods() == before)
        self.prometheus.up = True
        time.sleep(SCHEDULER_POLLS)

        done = self.rebalance("--once", "--dry-run=false")
        self.check("the pod is evicted", done.returncode == 0 and ": evicted" in done.stdout, done.stdout + done.stderr)
        self.wait_for("the controller recreates it", lambda: len(self.pods()) == 3 and self.pods() != before)
        new = [node for uid, (_, node) in self.pods().items() if uid not in before]
        planned = [moves[0]["to"], *moves[0]["alternatives"]] if moves else []
        self.check("the scheduler places it on a node of the plan", len(new) == 1 and new[0] in planned, f"{new}, {moves}")
        events = self.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        self.check("the pod has an event", any(event["reason"] == "Rebalanced" for event in events))
        stored = self.get(self.history)["data"]["moves.json"]
        self.check("the move is stored", [move["from"] for move in json.loads(stored)] == [hot], stored)

        time.sleep(4)
        second = self.rebalance("--once", "--dry-run=false")
        self.check("a second round proposes nothing", "0 of 3 nodes overloaded, 0 moves" in second.stdout,
                   second.stdout + second.stderr)
        self.traffic()
        self.budget(hot)
        self.later_run()
        self.service()
        return self.failures

    def traffic(self):
        """One of three nodes receives too much, of which one pod causes a third."""
        self.deployment("receiver", 1, 0.1, 400)
        # All nodes use the same CPU. Otherwise a node without pods of web attracts the receiver again.
        used = [node for _, node in self.pods("web").values()]
        self.prometheus.background = {node: 7.5 - 2.5 * used.count(node) for node in self.prometheus.nodes}
        node = next(iter(self.pods("receiver").values()))[1]
        self.prometheus.received = {node: 0.62}
        time.sleep(max(SCHEDULER_POLLS, 4))  # the cool-down of new pods
        done = self.rebalance("--once", "-o", "json", "--no-return=1s")
        plan = json.loads(done.stdout or "{}")
        self.check("the pod that receives moves from the node that receives too much",
                   [(move["pod"].split("-")[0], move["from"], move["signal"], move["result"]) for move in plan.get("moves", [])]
                   == [("default/receiver", node, "network-receive", "dry-run")], done.stdout + done.stderr)
        self.prometheus.received = {}
        self.get("/apis/apps/v1/namespaces/default/deployments/receiver", method="DELETE")
        self.wait_for("the receiver is deleted", lambda: not self.pods("receiver"))

    def budget(self, cooled):
        after = self.pods()
        hot = sorted({node for _, node in after.values()} - {cooled})[0]
        self.prometheus.background = {hot: 9.3 - 2.5 * sum(node == hot for _, node in after.values())}
        self.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}})
        time.sleep(SCHEDULER_POLLS)
        refused = self.rebalance("--once", "--dry-run=false")
        self.check("a budget without room protects its pods", "allows no disruption" in refused.stdout and self.pods() == after,
                   refused.stdout + refused.stderr)
        self.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", method="DELETE")

    history = "/api/v1/namespaces/kube-system/configmaps/berth-rebalance"

    def later_run(self):
        """A process that has moved nothing itself."""
        before = self.pods()
        limited = self.rebalance("--once", "--dry-run=false", "--max-per-hour=1")
        self.check("the move of an earlier run counts", limited.returncode == 2 and "1 pods were moved within the last hour"
                   in limited.stdout, limited.stdout + limited.stderr)
        stored = self.get(self.history)
        self.get(self.history, dict(stored, data={"moves.json": "edited"}), method="PUT")
        stopped = self.rebalance("--once", "--dry-run=false")
        self.check("without the stored moves nothing moves", stopped.returncode == 2 and
                   "the moves in the ConfigMap kube-system/berth-rebalance are unavailable" in stopped.stdout
                   and self.pods() == before, stopped.stdout + stopped.stderr)
        dry = self.rebalance("--once")
        self.check("a dry run proceeds", dry.returncode == 0 and "1 moves (dry run" in dry.stdout
                   and "The history of moves is unavailable" in dry.stderr, dry.stdout + dry.stderr)
        self.get(self.history, dict(stored, metadata={"name": "berth-rebalance"}), method="PUT")

    def service(self):
        before = self.pods()
        # The only node with room is the one that a pod of the workload has left.
        self.start("rebalance", "rebalance", *self.flags, "--dry-run=false", "--interval=10s", "--no-return=3s",
                   f"--http-address=127.0.0.1:{self.http}")
        own = f"http://127.0.0.1:{self.http}"
        self.wait_for("the service is ready", lambda: self.get(own + "/readyz") == "ok")
        self.wait_for("its leader evicts the pod of the hot node",
                      lambda: 'berth_rebalance_evictions_total{result="evicted"} 1' in self.get(own + "/metrics"))
        lease = self.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-rebalance")
        self.check("it holds its own lease", bool(lease["spec"].get("holderIdentity")))
        self.wait_for("the pod runs elsewhere", lambda: len(self.pods()) == 3 and self.pods() != before)
        time.sleep(12)
        metrics = self.get(own + "/metrics")
        self.check("the next round evicts nothing", 'result="evicted"} 1' in metrics
                   and re.search(r"berth_rebalance_overloaded_nodes 0\b", metrics), metrics)


def main():
    with tempfile.TemporaryDirectory() as directory:
        run = Run(str(pathlib.Path(sys.argv[1]).resolve()), directory)
        try:
            failures = run.test()
        finally:
            run.stop()
            if run.failures:
                for log in sorted(run.directory.glob("*.log")):
                    print(f"--- {log.name}\n" + log.read_text()[-3000:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
