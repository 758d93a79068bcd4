#!/usr/bin/env python3
"""Compares `berth what-if` with reality: random questions about a sandbox are answered, then really done, with
`berth scheduler` and the sandbox's controllers.

    what_if_test.py <path of the program berth> [--count N] [--seed N]

Pods that existed without a node and pods that are new count: the placements of both must be equal, as a multiset of
owner and node. Where equally good nodes decide, the answers with several seeds differ; then reality must be equal to
one of them. The questions reach the API server through a proxy, which rejects the test if it sees a request that is
not a GET.
"""

import argparse
import collections
import http.server
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from running import Running  # noqa: E402 (needs the paths set above)

# name, CPUs, GiB, zone: no two nodes have the same score for a pod, as far as integer scores permit that.
NODES = [("n0", 7, 61, "a"), ("n1", 13, 37, "b"), ("n2", 23, 97, "a"), ("n3", 17, 53, "c"), ("n4", 11, 71, "b")]
SEEDS = 4  # of the first answers
MORE_SEEDS = 60  # if reality differs from them
LISTS = {"nodes": "/api/v1/nodes", "pods": "/api/v1/pods", "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
         "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses", "replicasets": "/apis/apps/v1/replicasets",
         "namespaces": "/api/v1/namespaces"}
DUMPED = [part for kind in LISTS for part in ("--dump", f"{kind}.json")]
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"


class Proxy:
    """Forwards requests to the API server and records their methods."""

    def __init__(self, url):
        self.methods = collections.Counter()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def forward(self):
                outer.methods[self.command] += 1
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
                request = urllib.request.Request(url + self.path, body, {"Accept": self.headers.get("Accept", "*/*")},
                                                 method=self.command)
                try:
                    with urllib.request.urlopen(request, timeout=10) as reply:
                        status, content = reply.status, reply.read()
                except urllib.error.HTTPError as error:
                    status, content = error.code, error.read()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def owner_of(pod):
    """As berth names it; a pod without controller is its own owner."""
    meta = pod["metadata"]
    controller = next((o for o in meta.get("ownerReferences", []) if o.get("controller")), None)
    if controller is None:
        return "pod " + meta["name"]
    hashed = "-" + meta.get("labels", {}).get("pod-template-hash", " ")
    if controller["kind"] == "ReplicaSet" and controller["name"].endswith(hashed):
        return f"Deployment {controller['name'][:-len(hashed)]}"
    return f"{controller['kind']} {controller['name']}"


def owner_in(entry):
    if "owner" not in entry:
        return "pod " + entry["pod"].split("/")[1]
    kind, name = entry["owner"].split(" ")
    return f"{kind} {name.split('/')[1]}"


def spec(cpu, memory, priority="", spread=None):
    out = {"terminationGracePeriodSeconds": 1, "tolerations": [], "containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}}}]}
    if priority:
        out["priorityClassName"] = priority
    if spread:
        out["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": spread}}}]
    return out


class Outcome:
    """Placements and waiting pods by owner, and lost pods: of an answer or of reality."""

    def __init__(self, placed, waiting, lost):
        self.placed = collections.Counter(placed)
        self.waiting = collections.Counter(waiting)
        self.lost = frozenset(lost)

    def fits(self):
        placed = collections.Counter()
        for (owner, _), count in self.placed.items():
            placed[owner] += count
        return frozenset(placed.items()), frozenset(self.waiting.items()), self.lost

    def __eq__(self, other):
        return (self.placed, self.waiting, self.lost) == (other.placed, other.waiting, other.lost)

    def __repr__(self):
        placed = ", ".join(f"{owner} on {node}: {count}" for (owner, node), count in sorted(self.placed.items()))
        return f"placed: {placed or '-'}; waiting: {dict(self.waiting)}; lost: {sorted(self.lost)}"


class Comparison(Running):
    def __init__(self, berth, folder, seed):
        super().__init__(berth, folder, "--pod-start", "20ms", "--pod-stop", "20ms")
        self.random = random.Random(seed)
        self.proxy = Proxy(self.url)
        (folder / "proxied").write_text((folder / "kubeconfig").read_text().replace(self.url, self.proxy.url))
        for name, cpu, memory, zone in NODES:
            self.add_node(name, cpu, memory, {"topology.kubernetes.io/zone": zone})
        self.start_scheduler()
        self.number = 0
        self.budgets = set()
        for _ in range(3):
            self.create_deployment(self.new_deployment())
        self.settle()

    # --- the state ---

    def pods(self):
        return [pod for pod in self.get("/api/v1/pods")["items"] if pod["metadata"]["namespace"] == "default"]

    def settled(self):
        """All controllers have what they want, and the scheduler has decided about every pod."""
        pods = self.pods()
        for pod in pods:
            status = pod.get("status", {})
            if pod["metadata"].get("deletionTimestamp") or status.get("nominatedNodeName"):
                return None
            if pod["spec"].get("nodeName"):
                if status.get("phase") != "Running":
                    return None
            elif not any(c["type"] == "PodScheduled" and c["status"] == "False" for c in status.get("conditions", [])):
                return None
        owners = collections.Counter(owner_of(pod) for pod in pods)
        for deployment in self.get(DEPLOYMENTS)["items"]:
            status = deployment.get("status", {})
            want = deployment["spec"]["replicas"]
            if status.get("observedGeneration") != deployment["metadata"]["generation"] or \
                    status.get("updatedReplicas", 0) != want or status.get("replicas", 0) != want:
                return None
            if owners["Deployment " + deployment["metadata"]["name"]] != want:
                return None
        for budget in self.get(BUDGETS)["items"]:
            status = budget.get("status", {})
            healthy = sum(1 for pod in pods if pod["spec"].get("nodeName") and
                          pod["metadata"].get("labels", {}).get("app") == budget["spec"]["selector"]["matchLabels"]["app"])
            if status.get("currentHealthy") != healthy:
                return None
        return pods

    def settle(self):
        """The pods, after the same state was seen twice."""
        seen = [None]

        def ready():
            pods = self.settled()
            now = None if pods is None else [(p["metadata"]["uid"], p["spec"].get("nodeName")) for p in pods]
            if now is None or seen[0] != now:
                seen[0] = now
                return None
            return [True, pods]
        return self.wait("the cluster to settle", ready)[1]

    # --- questions ---

    def new_deployment(self):
        self.number += 1
        name = f"d{self.number}"
        spread = name if self.random.random() < 0.3 else None
        priority = "urgent" if self.random.random() < 0.15 else ""
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
                "spec": {"replicas": self.random.randint(1, 5), "strategy": {"type": "Recreate"},
                         "selector": {"matchLabels": {"app": name}},
                         "template": {"metadata": {"labels": {"app": name}},
                                      "spec": spec(self.random.randint(300, 4100), self.random.randint(500, 9000), priority, spread)}}}

    def create_deployment(self, deployment):
        name = deployment["metadata"]["name"]
        if self.random.random() < 0.5:
            self.budgets.add(name)
            self.post(BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
                                "spec": {"maxUnavailable": self.random.randint(0, 2), "selector": {"matchLabels": {"app": name}}}})
        self.post(DEPLOYMENTS, deployment)

    def question(self):
        """The flags of a question, and a function that does it really after the answer."""
        nodes = [node["metadata"]["name"] for node in self.get("/api/v1/nodes")["items"]]
        cordoned = [n["metadata"]["name"] for n in self.get("/api/v1/nodes")["items"] if n["spec"].get("unschedulable")]
        deployments = [d["metadata"]["name"] for d in self.get(DEPLOYMENTS)["items"]]
        choices = ["pod", "pod", "deployment", "requests", "delete", "drain", "cordon", "taint", "label"]
        if len(nodes) < 8:
            choices += ["add", "add"]
        if len(nodes) > 4:
            choices += ["remove"]
        if cordoned:
            choices += ["uncordon"] * 4
        kind = self.random.choice(choices)
        if kind in ("requests", "delete") and (not deployments or (kind == "delete" and len(deployments) < 3)):
            kind = "deployment"
        if kind == "drain" and len(cordoned) > 1:
            kind = "uncordon"
        return getattr(self, kind)(nodes, cordoned, deployments)

    def pod(self, *_):
        self.number += 1
        name = f"p{self.number}"
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
                "spec": spec(self.random.randint(500, 9000), self.random.randint(500, 20000),
                             "urgent" if self.random.random() < 0.3 else "")}
        (self.folder / "pod.json").write_text(json.dumps(body))
        return ["--add-pods", "pod.json"], lambda _: self.post(PODS, body)

    def deployment(self, *_):
        body = self.new_deployment()
        (self.folder / "deployment.json").write_text(json.dumps(body))
        return ["--add-pods", "deployment.json"], lambda _: self.create_deployment(body)

    def requests(self, _, __, deployments):
        name = self.random.choice(deployments)
        cpu, memory = self.random.randint(300, 5000), self.random.randint(500, 9000)
        flags = ["--set-requests", f"default/deployment/{name}:cpu={cpu}m,memory={memory}Mi"]
        patch = {"spec": {"template": {"spec": {"containers": spec(cpu, memory)["containers"]}}}}
        return flags, lambda _: self.send("PATCH", f"{DEPLOYMENTS}/{name}", patch, MERGE)

    def delete(self, _, __, deployments):
        name = self.random.choice(deployments)

        def act(_):
            self.send("DELETE", f"{DEPLOYMENTS}/{name}")
            if name in self.budgets:
                self.send("DELETE", f"{BUDGETS}/{name}")
        return ["--delete-pods", f"default/deployment/{name}"], act

    def add(self, nodes, *_):
        like = self.random.choice(nodes)
        count = self.random.randint(1, 2)

        def act(answer):
            model = self.get(f"/api/v1/nodes/{like}")
            for name in answer["changes"][0]["addedNodes"]:
                taints = [t for t in model["spec"].get("taints", []) if not t["key"].startswith("node.kubernetes.io/")]
                self.post("/api/v1/nodes", {
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "labels": {**model["metadata"]["labels"], "kubernetes.io/hostname": name}},
                    "spec": {"taints": taints},
                    "status": {key: model["status"][key] for key in ("capacity", "allocatable")}})
        return ["--add-nodes", str(count), "--like", like], act

    def remove(self, nodes, *_):
        node = self.random.choice(nodes)

        def act(_):
            pods = sorted((p["metadata"]["name"] for p in self.pods() if p["spec"].get("nodeName") == node))
            self.send("DELETE", f"/api/v1/nodes/{node}")
            for name in pods:  # the garbage collector of pods would do it after 40 s
                self.send("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
                self.settle()
        return ["--remove-node", node], act

    def cordon(self, nodes, *_):
        node = self.random.choice(nodes)
        return ["--cordon", node], lambda _: self.set_unschedulable(node, True)

    def uncordon(self, _, cordoned, __):
        node = self.random.choice(cordoned)
        return ["--uncordon", node], lambda _: self.set_unschedulable(node, False)

    def set_unschedulable(self, node, value):
        self.send("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": value}}, MERGE)

    def label(self, nodes, *_):
        node, zone = self.random.choice(nodes), self.random.choice("abc")
        return (["--label-node", f"{node}:topology.kubernetes.io/zone={zone}"],
                lambda _: self.send("PATCH", f"/api/v1/nodes/{node}",
                                    {"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}, MERGE))

    def taint(self, nodes, *_):
        tainted = [n["metadata"]["name"] for n in self.get("/api/v1/nodes")["items"]
                   if any(t["key"] == "test" for t in n["spec"].get("taints", []))]
        node = self.random.choice(tainted or nodes)
        change = f"{node}:test-" if tainted else f"{node}:test=x:NoSchedule"

        def act(_):
            taints = self.get(f"/api/v1/nodes/{node}")["spec"].get("taints", [])
            taints = [t for t in taints if t["key"] != "test"]
            if not tainted:
                taints.append({"key": "test", "value": "x", "effect": "NoSchedule"})
            self.send("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, MERGE)
        return ["--taint-node", change], act

    def drain(self, nodes, *_):
        node = self.random.choice(nodes)

        def act(_):
            """One pod after the other; kubectl repeats rejected evictions likewise."""
            self.set_unschedulable(node, True)
            self.settle()
            left = sorted((p["metadata"]["name"] for p in self.pods() if p["spec"].get("nodeName") == node))
            while left:
                stay = [name for name in left if not self.evict(name)]
                if stay == left:
                    return
                left = stay
        return ["--drain", node], act

    def evict(self, name):
        try:
            self.send("POST", f"{PODS}/{name}/eviction",
                      {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}})
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            return False
        self.settle()
        return True

    # --- the comparison ---

    def ask(self, flags, source, seed):
        done = subprocess.run([self.berth, "what-if", "-o", "json", "--seed", str(seed), *source, *flags], cwd=self.folder,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: what-if {' '.join(flags)}: exit code {done.returncode}: {done.stderr}")
        answer = json.loads(done.stdout)
        placed = [(owner_in(p), p["node"]) for p in answer["placements"]]
        waiting = []
        for group in answer["waits"]:
            waiting += [owner_in({"pod": pod, **({"owner": group["owner"]} if "owner" in group else {})}) for pod in group["pods"]]
        lost = [pod["pod"].split("/")[1] for pod in answer["lost"]]
        return answer, Outcome(placed, waiting, lost)

    def dump(self):
        """The objects, with their versions."""
        lists = {kind: self.get(path) for kind, path in LISTS.items()}
        for kind, objects in lists.items():
            (self.folder / f"{kind}.json").write_text(json.dumps(objects))
        return [(o["metadata"]["uid"], o["metadata"]["resourceVersion"]) for objects in lists.values() for o in objects["items"]]

    def ask_both(self, flags):
        """The answer from the cluster and those from its dump with several seeds, of one state of the cluster."""
        for _ in range(50):
            before = self.dump()
            answer, live = self.ask(flags, ["--kubeconfig", "proxied"], 1)
            if self.dump() == before:
                break
        else:
            sys.exit("error: the cluster changes all the time")
        outcomes = [self.ask(flags, DUMPED, seed)[1] for seed in range(1, SEEDS + 1)]
        if outcomes[0] != live:
            sys.exit(f"error: {' '.join(flags)}: the answers from the cluster and from its dump differ:\n{live}\n{outcomes[0]}")
        return answer, live, outcomes

    def reality(self, before, after):
        bound = {pod["metadata"]["uid"] for pod in before if pod["spec"].get("nodeName")}
        remain = {pod["metadata"]["uid"] for pod in after}
        new = [pod for pod in after if pod["metadata"]["uid"] not in bound]
        return Outcome([(owner_of(pod), pod["spec"]["nodeName"]) for pod in new if pod["spec"].get("nodeName")],
                       [owner_of(pod) for pod in new if not pod["spec"].get("nodeName")],
                       [pod["metadata"]["name"] for pod in before
                        if pod["metadata"]["uid"] not in remain and owner_of(pod).startswith("pod ")])

    def round(self):
        """Asks and does one question. Returns whether equal scores decided."""
        before = self.settle()
        flags, act = self.question()
        answer, live, outcomes = self.ask_both(flags)
        act(answer)
        real = None

        def same():
            nonlocal real
            real = self.reality(before, self.settle())
            return real in outcomes
        if self.holds(same):
            return any(outcome != live for outcome in outcomes)
        more = [self.ask(flags, DUMPED, seed)[1] for seed in range(SEEDS + 1, SEEDS + MORE_SEEDS)]
        if real in more:
            return True
        sys.exit(f"error: {' '.join(flags)}\nanswer:  {live}\nreality: {real}\n" + (self.folder / "log").read_text()[-2000:])

    @staticmethod
    def holds(condition, seconds=8):
        """A rejected pod may wait for its back-off."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.1)
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        comparison = Comparison(str(pathlib.Path(options.berth).resolve()), pathlib.Path(name), options.seed)
        try:
            ties = sum(comparison.round() for _ in range(options.count))
        finally:
            comparison.stop()
        methods = dict(comparison.proxy.methods)
        if set(methods) != {"GET"}:
            sys.exit(f"error: berth what-if sent requests that are not GET: {methods}")
        print(f"{options.count} questions, seed {options.seed}: reality was as answered; in {ties} of them equally good nodes "
              f"decided; {methods['GET']} requests, all GET")


if __name__ == "__main__":
    main()
