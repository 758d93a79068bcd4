"""A sandbox and a scheduler in real time, for tests that compare them with something."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

from ports import free_port


class Running:
    """Processes in a folder, which has their log and the kubeconfig. The sandbox has no nodes."""

    def __init__(self, berth, folder, *flags):
        self.berth = berth
        self.folder = folder
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self.log = open(folder / "log", "w")
        self.children = []
        self.start("sandbox", "--nodes", "0", "--port", str(port), "--kubeconfig", "kubeconfig", *flags)
        self.wait("the sandbox", lambda: self.get("/api/v1/nodes"))
        self.post("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000})

    def add_node(self, name, cpu, memory, labels):
        room = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
        self.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                    "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
                                    "status": {"capacity": room, "allocatable": room}})

    def start_scheduler(self):
        self.start("scheduler", "--kubeconfig", "kubeconfig", "--leader-elect=false", "--secure-port=0",
                   "--berth-http-address=127.0.0.1:0")

    def start(self, *argv):
        self.children.append(subprocess.Popen((self.berth, *argv), cwd=self.folder, stdout=self.log, stderr=self.log))

    def stop(self):
        for child in reversed(self.children):
            child.terminate()
            child.wait()

    def send(self, method, path, body=None, content_type="application/json"):
        """Raises HTTPError for a response that is not 2xx."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": content_type}, method=method)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)

    def get(self, path):
        return self.send("GET", path)

    def post(self, path, body):
        try:
            return self.send("POST", path, body)
        except urllib.error.HTTPError as error:
            sys.exit(f"error: {path}: {error.read().decode()}")

    def wait(self, what, ready, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if result := ready():
                    return result
            except OSError:
                pass
            time.sleep(0.02)
        sys.exit(f"error: waited {seconds} s for {what}\n{(self.folder / 'log').read_text()[-3000:]}")
