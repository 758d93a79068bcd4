#!/usr/bin/env python3
"""Places thousands of Flink TaskManagers with `berth scheduler`, the preset `streaming`, on simulated nodes.

    bench/load/taskmanagers.py [--berth build/bin/berth] [--nodes 300] [--jobs 12] [--taskmanagers 260] [--keep DIR]

Starts `berth sandbox` (API server, kubelets), a server with the query API of Prometheus, and two replicas of
`berth scheduler`. Jobs of several namespaces arrive one after the other, each with all of its TaskManagers at once, as
Flink's native integration creates them. The load of a node follows from its pods: each pod uses CPU, memory, network
and disk by its job, not by its requests. Some nodes have load of their own, from the start or from the middle on. After
half of the jobs the leading replica is killed.

Exit code 1 if a pod is lost, bound twice or not bound, if the requests of a node exceed its size, if the standby does
not take over, or if a node gets a pod after the scheduler was told that it is above a threshold. Three minutes on
two cores; needs only Python.
"""
import argparse
import collections
import http.client
import http.server
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from ports import free_port  # noqa: E402 (needs the path set above)

CORES, GIB = 16, 64
LINK = 1250  # megabytes per second
WINDOW = 30  # seconds of the rates; the queries of the preset have 5m
SCRAPE, POLL = 5, 5  # seconds
START = 3  # seconds from binding until a TaskManager works
THRESHOLDS = {"cpu": 80, "memory": 90, "network-receive": 80, "network-transmit": 80, "disk": 85}
HYSTERESIS = 5
# Seconds after an answer in which a binding may have been decided before it.
IN_FLIGHT = 1.0
LEASE = 15  # seconds, the default


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else float("nan")


class Pod:
    def __init__(self, namespace, name, job):
        self.key, self.job = f"{namespace}/{name}", job
        self.created = self.bound = None  # seconds
        self.nodes = []  # in the order of the watch events; more than one: bound twice
        self.uids = set()
        self.deleted = False
        # Skewed data: some TaskManagers work more than others of the job.
        skew = random.lognormvariate(0, 0.35)
        self.use = {name: value * skew for name, value in job.use.items()}
        self.use["memory"] = job.use["memory"]


class Job:
    """All TaskManagers have the same requests: one core, 4 GiB."""

    KINDS = {  # cores; GiB; MB/s in, out; busy share of a disk
        "parses": {"cpu": 1.3, "memory": 3.0, "network-receive": 25, "network-transmit": 15, "disk": 0.01},
        "joins": {"cpu": 0.8, "memory": 3.8, "network-receive": 40, "network-transmit": 40, "disk": 0.04},
        "filters": {"cpu": 0.4, "memory": 2.0, "network-receive": 55, "network-transmit": 5, "disk": 0.00},
        "stores": {"cpu": 0.5, "memory": 3.5, "network-receive": 15, "network-transmit": 25, "disk": 0.06},
    }

    def __init__(self, number, tenants):
        kind = list(self.KINDS)[number % len(self.KINDS)]
        self.namespace, self.name = f"tenant-{number % tenants}", f"{kind}-{number}"
        self.use = self.KINDS[kind]


class Cluster:
    """The load of the nodes, and the measurements of Prometheus."""

    SIGNALS = tuple(THRESHOLDS)

    def __init__(self, nodes):
        self.lock = threading.Lock()
        self.nodes = nodes
        self.own = {node: dict.fromkeys(self.SIGNALS, 0.0) for node in nodes}  # share, without pods
        self.used = {node: dict.fromkeys(self.SIGNALS, 0.0) for node in nodes}  # share, of pods
        self.starting = collections.deque()  # (time, pod)
        self.history = collections.deque(maxlen=WINDOW + 1)  # of all shares, one per second
        self.measured = {name: dict.fromkeys(nodes, 0.0) for name in self.SIGNALS}
        self.running = {}  # pods that work, by key
        self.busiest = []  # (highest cpu load of a node, its 99th percentile), one per second
        self.noise = {node: 0.0 for node in nodes}
        self.overloaded = set()  # nodes whose own load exceeds a threshold at some time

    def start(self, pod):
        with self.lock:
            self.starting.append((time.monotonic() + START, pod))

    def share(self, node, name):
        share = self.own[node][name] + self.used[node][name]
        if name != "memory":
            share *= 1 + self.noise[node]
        return min(1.0, share)

    def step(self, second):
        with self.lock:
            while self.starting and self.starting[0][0] <= time.monotonic():
                pod = self.starting.popleft()[1]
                used = self.used[pod.nodes[0]]
                self.running[pod.key] = pod
                used["cpu"] += pod.use["cpu"] / CORES
                used["memory"] += pod.use["memory"] / GIB
                used["network-receive"] += pod.use["network-receive"] / LINK
                used["network-transmit"] += pod.use["network-transmit"] / LINK
                used["disk"] += pod.use["disk"]
            for node in self.nodes:
                self.noise[node] = 0.8 * self.noise[node] + random.gauss(0, 0.03)
            now = {name: {node: self.share(node, name) for node in self.nodes} for name in self.SIGNALS}
            self.history.append(now)
            loads = sorted(100 * value for node, value in now["cpu"].items() if node not in self.overloaded)
            self.busiest.append((loads[-1], percentile(loads, 99)))
            if second % SCRAPE == 0:
                for name in self.SIGNALS:
                    if name == "memory":
                        self.measured[name] = now[name]
                    else:
                        past = [moment[name] for moment in self.history]
                        self.measured[name] = {node: sum(m[node] for m in past) / len(past) for node in self.nodes}

    def answer(self, query):
        """(labels, value) of each series, and the signal's name, if it is one."""
        with self.lock:
            for metric, name in (("container_cpu_usage_seconds_total", "cpu"),
                                 ("container_memory_working_set_bytes", "memory")):
                if metric in query:
                    factor = 1 if name == "cpu" else 1 << 30
                    return [(dict(zip(("namespace", "pod"), key.split("/"))), pod.use[name] * factor)
                            for key, pod in self.running.items()], None
            if "timestamp(" in query:
                return [({"node": node}, 0) for node in self.nodes], None
            if "count_over_time" in query:
                return [({"node": node}, 20) for node in self.nodes], None
            for metric, name in (("node_cpu_seconds_total", "cpu"), ("node_memory_MemAvailable", "memory"),
                                 ("node_network_receive", "network-receive"),
                                 ("node_network_transmit", "network-transmit"), ("node_disk_io_time", "disk")):
                if metric in query:
                    return [({"node": node}, value) for node, value in self.measured[name].items()], name
        raise ValueError(query)


class Prometheus:
    """The query API for one replica. Records when the replica was told that a node is above a threshold."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.closed = collections.defaultdict(list)  # node -> [[from, until or None]]
        self.open = {}  # the last of them by (node, signal), while the node is above the threshold
        self.polls = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                series, name = outer.cluster.answer(urllib.parse.parse_qs(body)["query"][0])
                now = time.time()
                answer = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
                    {"metric": labels, "value": [now, str(value)]} for labels, value in series]}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                if name:
                    outer.record(name, series)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def record(self, name, series):
        self.polls += 1
        now = time.monotonic()
        for labels, value in series:
            key = (labels["node"], name)
            if key in self.open:
                if 100 * value <= THRESHOLDS[name]:  # the scheduler may keep it closed for longer
                    self.open.pop(key)[1] = now
            elif 100 * value > THRESHOLDS[name]:
                self.open[key] = [now, None]
                self.closed[labels["node"]].append(self.open[key])

    def closed_since(self, node, moment):
        """For how many seconds the replica had known at this moment that the node is above a threshold; 0: it is not."""
        return max((moment - start for start, end in self.closed[node] if start < moment and (end is None or moment < end)),
                   default=0)


class Api:
    """Requests of one thread over one connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def request(self, method, path, body=None):
        self.connection.request(method, path, body=body and json.dumps(body), headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status}: {text[:300]}")
        return json.loads(text)


class Run:
    def __init__(self, options, directory):
        self.options, self.directory = options, pathlib.Path(directory)
        self.children = {}
        self.port = free_port()
        self.pods = {}  # by key
        self.lock = threading.Lock()
        self.failures = []
        self.begin = time.monotonic()

    # --- programs ---

    def start(self, name, *arguments):
        log = open(self.directory / f"{name}.log", "a")
        self.children[name] = subprocess.Popen([self.options.berth, *arguments], cwd=self.directory, stdout=log, stderr=log)

    def stop(self):
        for child in reversed(list(self.children.values())):
            if child.poll() is None:
                child.terminate()
        for child in self.children.values():
            child.wait()

    def cpu_seconds(self, name):
        """Of a running program."""
        fields = pathlib.Path(f"/proc/{self.children[name].pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if condition():
                    return True
            except (OSError, RuntimeError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        self.failures.append(f"{what}: not within {seconds} s")
        return False

    def replica(self, name):
        prometheus = Prometheus(self.cluster)
        (self.directory / f"{name}-sources.yaml").write_text(json.dumps({"sources": [
            {"name": "main", "addresses": [prometheus.url], "pollInterval": f"{POLL}s", "timeout": "4s"}]}))
        self.start(name, "scheduler", "--config=scheduler.yaml", "--kubeconfig=kubeconfig", "--secure-port=0",
                   "--berth-http-address=127.0.0.1:0", f"--berth-metric-sources={name}-sources.yaml")
        return prometheus

    def holder(self):
        lease = Api(self.port).request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")
        return lease["spec"].get("holderIdentity")

    def set_up(self):
        options = self.options
        (self.directory / "nodes.yaml").write_text(
            f"groups:\n- {{count: {options.nodes}, name: worker-###, cpu: {CORES}, memory: {GIB}Gi, zones: [a, b, c]}}\n")
        self.start("sandbox", "sandbox", f"--port={self.port}", "--nodes-file=nodes.yaml", "--no-field-ownership",
                   "--watch-window=200000", "--kubeconfig=kubeconfig")
        self.wait_for("the sandbox runs", lambda: len(Api(self.port).request("GET", "/api/v1/nodes")["items"]) == options.nodes, 30)
        self.api = Api(self.port)
        nodes = sorted(node["metadata"]["name"] for node in self.api.request("GET", "/api/v1/nodes")["items"])
        self.cluster = Cluster(nodes)
        # Load that no request describes: a fifth of the nodes is half busy, some are overloaded.
        chosen = random.sample(nodes, options.nodes // 5 + options.nodes // 30)
        self.hot, half_busy = chosen[:options.nodes // 30], chosen[options.nodes // 30:]
        self.later = half_busy[:options.nodes // 30]
        self.cluster.overloaded = {*self.hot, *self.later}
        for node in half_busy:
            self.cluster.own[node].update(cpu=0.4, disk=0.2)
        for at, node in enumerate(self.hot):
            self.cluster.own[node][list(THRESHOLDS)[at % len(THRESHOLDS)]] = 0.97
        signals = [{"name": name, "window": f"{WINDOW}s"} for name in THRESHOLDS if name != "memory"]
        (self.directory / "scheduler.yaml").write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": True}, "profiles": [{
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": [{"name": "LoadAware", "weight": 5}]}},
                "pluginConfig": [{"name": "LoadAware", "args": {
                    "prometheusAddress": "main", "preset": "streaming", "hysteresis": HYSTERESIS, "signals": signals}}]}]}))
        self.ticking = True
        threading.Thread(target=self.tick, daemon=True).start()
        time.sleep(WINDOW / 3)  # the first measurements
        self.first = self.replica("replica-1")
        self.wait_for("a replica leads", self.holder, 30)
        self.leader = self.holder()
        self.second = self.replica("replica-2")
        self.wait_for("both replicas poll", lambda: self.first.polls >= 5 and self.second.polls >= 5, 30)
        threading.Thread(target=self.watch, daemon=True).start()

    # --- the cluster ---

    def tick(self):
        second = 0
        while self.ticking:
            self.cluster.step(second)
            second += 1
            time.sleep(max(0.0, self.begin + second - time.monotonic()))

    def watch(self):
        """Follows all pods."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/api/v1/pods?watch=true&resourceVersion=0")
        answer = connection.getresponse()
        try:
            for line in answer:
                self.observe(json.loads(line))
        except (OSError, ValueError, http.client.HTTPException):
            if self.ticking:
                self.failures.append("the watch ended")

    def observe(self, event):
        pod = self.pods.get(f'{event["object"]["metadata"].get("namespace")}/{event["object"]["metadata"].get("name")}')
        if pod is None:
            return
        pod.uids.add(event["object"]["metadata"]["uid"])
        pod.deleted = pod.deleted or event["type"] == "DELETED"
        node = event["object"]["spec"].get("nodeName")
        if node and (not pod.nodes or pod.nodes[-1] != node):
            pod.nodes.append(node)
            if len(pod.nodes) == 1:
                pod.bound = time.monotonic()
                self.cluster.start(pod)

    def submit(self, job, count, kills_leader):
        labels = {"app": job.name, "type": "flink-native-kubernetes"}
        base = f"/api/v1/namespaces/{job.namespace}"
        container = {"name": "flink-main-container", "image": "flink:1.20", "resources": {"requests": {"cpu": "1", "memory": "4Gi"}}}
        manager = self.api.request("POST", f"/apis/apps/v1/namespaces/{job.namespace}/deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": job.name, "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": {**labels, "component": "jobmanager"}}, "template": {
                "metadata": {"labels": {**labels, "component": "jobmanager"}}, "spec": {"containers": [container]}}}})
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": job.name, "uid": manager["metadata"]["uid"],
                 "controller": True, "blockOwnerDeletion": True}
        for number in range(1, count + 1):
            if kills_leader and number == count // 2:
                # A part of the job is bound, the rest waits for the next leader.
                self.kill_leader()
            pod = Pod(job.namespace, f"{job.name}-taskmanager-1-{number}", job)
            pod.created = time.monotonic()
            self.pods[pod.key] = pod
            self.api.request("POST", base + "/pods", {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod.key.split("/")[1], "labels": {**labels, "component": "taskmanager"},
                             "ownerReferences": [owner]},
                "spec": {"restartPolicy": "Never", "containers": [container]}})

    def unbound(self):
        return sum(pod.bound is None for pod in self.pods.values())

    # --- the run ---

    def go(self):
        options = self.options
        self.set_up()
        for tenant in range(options.tenants):
            self.api.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                            "metadata": {"name": f"tenant-{tenant}"}})
        before = {name: self.cpu_seconds(name) for name in ("replica-1", "replica-2")}
        self.killed = self.led = None
        first_job = time.monotonic()
        for number in range(options.jobs):
            due = first_job + number * options.interval
            time.sleep(max(0.0, due - time.monotonic()))
            job = Job(number, options.tenants)
            if number == options.jobs // 2:
                for node in self.later:
                    self.cluster.own[node]["cpu"] = 0.9
            self.submit(job, options.taskmanagers, kills_leader=number == options.jobs // 2 + 1)
            print(f"{time.monotonic() - first_job:4.0f} s: {job.namespace}/{job.name}: {len(self.pods)} TaskManagers, "
                  f"{self.unbound()} not bound", flush=True)
        self.wait_for("all pods are bound", lambda: self.unbound() == 0, 240)
        last_bound = max((pod.bound for pod in self.pods.values() if pod.bound), default=first_job)
        cpu = self.cpu_of_killed - before["replica-1"] + self.cpu_seconds("replica-2") - before["replica-2"]
        time.sleep(WINDOW + START)  # until the last pods are measured
        self.report(first_job, last_bound, cpu)

    def kill_leader(self):
        self.cpu_of_killed = self.cpu_seconds("replica-1")
        self.children["replica-1"].kill()
        self.killed = time.monotonic()
        threading.Thread(target=self.follow_lease, daemon=True).start()

    def follow_lease(self):
        if self.wait_for("the standby leads", lambda: self.holder() not in (None, "", self.leader), 3 * LEASE):
            self.led = time.monotonic()

    # --- the results ---

    def check(self, what, wrong):
        print(f"{'FAILED' if wrong else 'ok'}: {what}")
        if wrong:
            self.failures.append(what)
            for line in wrong[:10]:
                print(f"  {line}")

    def report(self, first_job, last_bound, cpu):
        pods = list(self.pods.values())
        # The final state, independently of the watch.
        there = {f'{item["metadata"]["namespace"]}/{item["metadata"]["name"]}': item
                 for item in self.api.request("GET", "/api/v1/pods")["items"]}
        requested = collections.Counter(item["spec"].get("nodeName") for item in there.values())
        self.check(f"all {len(pods)} TaskManagers are bound and run", [
            pod.key for pod in pods if not pod.nodes or there.get(pod.key, {}).get("status", {}).get("phase") != "Running"])
        self.check("none is lost or bound twice", [
            f"{pod.key}: {pod.nodes} {pod.uids}" for pod in pods
            if pod.deleted or len(pod.nodes) > 1 or len(pod.uids) != 1 or pod.key not in there])
        self.check("the requests of no node exceed its size", [
            f"{node}: {count}" for node, count in requested.items() if node and count > CORES - 1])
        # Which replica decided follows from the time; during the change of the leader nothing is bound.
        violations, checked = [], 0
        for pod in pods:
            if not pod.nodes:
                continue
            source = self.first if self.killed is None or pod.bound < self.killed + IN_FLIGHT else self.second
            since = source.closed_since(pod.nodes[0], pod.bound)
            checked += 1
            if since > IN_FLIGHT:
                violations.append(f"{pod.key} on {pod.nodes[0]}, {since:.1f} s after it was measured above a threshold")
        self.check("no node gets a pod after it was measured above a threshold", violations)
        on_hot = sum(pod.nodes[0] in self.hot for pod in pods if pod.nodes)
        self.check(f"none is on the {len(self.hot)} nodes that were overloaded from the start", ["pods: %d" % on_hot] if on_hot else [])
        self.check("the standby took over", [] if self.led else ["it did not"])
        waits = [pod.bound - pod.created for pod in pods if pod.bound]
        waited = [bool(pod.bound and self.led and self.killed <= pod.bound and pod.created <= self.led) for pod in pods]
        others = [pod.bound - pod.created for pod, gap in zip(pods, waited) if pod.bound and not gap]
        closed = {node for source in (self.first, self.second) for node, times in source.closed.items() if times}
        seconds = last_bound - first_job
        print(f"\nnodes                            {len(self.cluster.nodes)}, {len(closed)} of them closed at some time, "
              f"{len(self.cluster.overloaded)} of them by load without pods")
        print(f"TaskManagers                     {len(pods)}, {self.options.jobs} jobs, {self.options.tenants} namespaces")
        print(f"first pod created to last bound  {seconds:.0f} s")
        print(f"time to bind                     median {1000 * statistics.median(waits):.0f} ms, p99 {percentile(waits, 99):.2f} s, "
              f"longest {max(waits):.2f} s")
        print(f"  without the change of leader   median {1000 * statistics.median(others):.0f} ms, p99 {1000 * percentile(others, 99):.0f} ms, "
              f"longest {1000 * max(others):.0f} ms ({len(others)} pods)")
        if self.led:
            print(f"change of leader                 {self.led - self.killed:.1f} s after the kill; {sum(waited)} pods waited for it")
        print(f"CPU of the scheduler             {1e6 * cpu / len(pods):.0f} us per pod: {cpu:.2f} s, both replicas, polls included")
        highest, nearly = (statistics.median(column) for column in zip(*self.cluster.busiest[-WINDOW:]))
        print(f"CPU load of the other nodes      99th percentile {nearly:.0f} %, highest {highest:.0f} % at the end")
        print(f"machine                          {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--berth", default=str(root / "build/bin/berth"), help="the program; default: build/bin/berth")
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--taskmanagers", type=int, default=260, help="of each job")
    parser.add_argument("--tenants", type=int, default=4, help="namespaces")
    parser.add_argument("--interval", type=float, default=10, help="seconds between two jobs")
    parser.add_argument("--seed", type=int, default=1, help="of the loads")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for the logs; default: they are removed")
    options = parser.parse_args()
    if options.jobs < 3:
        parser.error("--jobs: at least 3, because the leader is killed after half of them")
    options.berth = str(pathlib.Path(options.berth).resolve())
    random.seed(options.seed)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        run = Run(options, options.keep or temporary)
        try:
            run.go()
        finally:
            run.ticking = False
            run.stop()
    for failure in run.failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
