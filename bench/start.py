#!/usr/bin/env python3
"""Measures a scheduler's start until its first binding, and its memory with a cluster of bound pods.

Loads a sandbox with nodes, bound running pods and one pending pod, then starts the scheduler. CPU time is that of
the process, by thread. Memory is resident memory: when the first pod is bound, at its peak, and two seconds later.
With --burst, creates pods afterwards and measures the CPU time per bound pod, by thread.

    bench/start.py --nodes 5000 --pods 30000,150000
"""
import argparse
import collections
import http.client
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ENV = [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(8)]
MANAGED = json.loads('{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},'
                     '"f:ownerReferences":{".":{},"k:{\\"uid\\":\\"x\\"}":{}}},"f:spec":{"f:containers":'
                     '{"k:{\\"name\\":\\"main\\"}":{".":{},"f:env":{".":{}},"f:image":{},"f:imagePullPolicy":{},'
                     '"f:livenessProbe":{".":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}}},"f:name":{},'
                     '"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},'
                     '"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},'
                     '"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},'
                     '"f:serviceAccount":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{}}}')


def plain_pod(i, node):
    """A pod with requests only, as in bench_end_to_end."""
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": f"bound-{i}", "namespace": "default", "labels": {"app": f"app-{i % 10}"}},
           "spec": {"containers": [{"name": "main", "image": "docker.io/library/nginx:1.27", "resources": {
               "requests": {"cpu": f"{50 + i % 97}m", "memory": f"{64 + i % 89}Mi"}}}]}}
    if node:
        pod["metadata"]["uid"] = f"{i:08x}-5a1e-4c6b-9d3f-{i * 7919 % 16**12:012x}"
        pod["spec"] |= {"nodeName": node, "schedulerName": "default-scheduler"}
        pod["status"] = {"phase": "Running"}
    return pod


def deployed_pod(i, node, workloads=300):
    """A running pod of a Deployment as stored by an API server: two containers, probes, mounts, statuses."""
    w = i % workloads
    workload = f"service-{w:03d}"
    template = f"{w * 2654435761 % 2**32:x}"[:10]
    suffix = f"{i * 40503 % 16**5:05x}"
    token = f"kube-api-access-{suffix}"
    made = f"2026-10-{1 + i % 28:02d}T{i % 24:02d}:{i % 60:02d}:{i * 7 % 60:02d}Z"
    owner_uid = f"{w:08x}-0b1c-4d2e-8f3a-{w * 104729 % 16**12:012x}"
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1,
             "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    mounts = [{"name": "config", "mountPath": "/etc/service"}, {"name": "scratch", "mountPath": "/tmp"},
              {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]

    def container(name, image, cpu, memory):
        return {"name": name, "image": image, "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "env": ENV, "resources": {"limits": {"cpu": f"{2 * cpu}m", "memory": f"{2 * memory}Mi"},
                                          "requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}},
                "volumeMounts": mounts, "livenessProbe": probe, "readinessProbe": probe,
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent", "securityContext": {"allowPrivilegeEscalation": False}}

    containers = [container("main", f"registry.internal/team/{workload}:1.{w}.0", 50 + w % 40, 64 + w % 60),
                  container("proxy", "registry.internal/mesh/proxy:v1.24.2", 10, 32)]
    condition = [{"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": made,
                  "observedGeneration": 1}
                 for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")]
    statuses = [{"name": c["name"], "state": {"running": {"startedAt": made}}, "lastState": {}, "ready": True,
                 "restartCount": 0, "image": c["image"], "imageID": c["image"] + "@sha256:" + "0123456789abcdef" * 4,
                 "containerID": "containerd://" + f"{i:016x}" * 4, "started": True,
                 "allocatedResources": c["resources"]["requests"], "resources": c["resources"]}
                for c in containers]
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": f"{workload}-{template}-{suffix}-{i}", "generateName": f"{workload}-{template}-",
                        "namespace": f"team-{w % 20:02d}", "uid": f"{i:08x}-5a1e-4c6b-9d3f-{i * 7919 % 16**12:012x}",
                        "creationTimestamp": made, "generation": 1,
                        "labels": {"app.kubernetes.io/name": workload, "app.kubernetes.io/part-of": f"team-{w % 20:02d}",
                                   "app.kubernetes.io/version": f"1.{w}.0", "pod-template-hash": template},
                        "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
                        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                             "name": f"{workload}-{template}", "uid": owner_uid, "controller": True,
                                             "blockOwnerDeletion": True}],
                        "managedFields": [{"manager": m, "operation": "Update", "apiVersion": "v1", "time": made,
                                           "fieldsType": "FieldsV1", "fieldsV1": MANAGED}
                                          for m in ("kube-controller-manager", "kubelet")]},
           "spec": {"volumes": [{"name": "config", "configMap": {"name": workload, "defaultMode": 420}},
                                {"name": "scratch", "emptyDir": {}},
                                {"name": token, "projected": {"defaultMode": 420, "sources": [
                                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                                    {"configMap": {"name": "kube-root-ca.crt",
                                                   "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}],
                    "containers": containers, "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                    "dnsPolicy": "ClusterFirst", "serviceAccountName": workload, "serviceAccount": workload,
                    "securityContext": {}, "schedulerName": "default-scheduler", "priority": 0,
                    "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": True,
                    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 100, "podAffinityTerm": {
                            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": workload}},
                            "topologyKey": "kubernetes.io/hostname"}}]}} if w % 10 == 0 else {},
                    "tolerations": [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute",
                                     "tolerationSeconds": 300} for what in ("not-ready", "unreachable")]}}
    if node:
        pod["spec"]["nodeName"] = node
        pod["status"] = {"phase": "Running", "conditions": condition, "hostIP": "10.0.0.1", "podIP": "10.1.2.3",
                         "podIPs": [{"ip": "10.1.2.3"}], "startTime": made, "containerStatuses": statuses,
                         "qosClass": "Burstable", "observedGeneration": 1}
    return pod


KINDS = {"plain": plain_pod, "deployed": deployed_pod}


class Process:
    def __init__(self, command, log):
        self.log = log
        self.child = subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        self.folder = pathlib.Path(f"/proc/{self.child.pid}")

    def memory_mib(self, what):
        return int(re.search(rf"^{what}:\s+(\d+)", (self.folder / "status").read_text(), re.M)[1]) / 1024

    def cpu_seconds(self):
        """CPU time by thread name."""
        ticks = os.sysconf("SC_CLK_TCK")
        seconds = collections.Counter()
        for task in (self.folder / "task").iterdir():
            head, _, rest = (task / "stat").read_text().rpartition(")")
            fields = rest.split()
            seconds[head.split("(", 1)[1]] += (int(fields[11]) + int(fields[12])) / ticks
        return seconds

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Api:
    def __init__(self, port):
        self.port = port

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]!r}")
        return text

    def create_pods(self, pods):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        for pod in pods:
            connection.request("POST", f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", json.dumps(pod),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 201:
                raise RuntimeError(f"creating a pod: {answer.status} {text[:200]!r}")


class Bindings(threading.Thread):
    """Watches pods that are bound but not running yet."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.count, self.first = 0, None
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.request("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName!=,status.phase=Pending")
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        while line := self.answer.readline():
            if line.startswith(b'{"type":"ADDED"'):
                self.first = self.first or time.monotonic()
                self.count += 1

    def wait(self, count, process, timeout):
        end = time.monotonic() + timeout
        while self.count < count:
            if time.monotonic() > end or process.child.poll() is not None:
                words = "\n".join(pathlib.Path(process.log).read_text().splitlines()[-5:])
                sys.exit(f"no binding; the end of the scheduler's log:\n{words}")
            time.sleep(0.001)


def namespaces():
    for name in [f"team-{i:02d}" for i in range(20)]:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def measure(options, pods, folder, report):
    make = KINDS[options.kind]
    kubeconfig, load = folder / "kubeconfig", folder / "load.json"
    names = [f"node-{i + 1:04d}" for i in range(options.nodes)]
    with open(load, "w") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[\n')
        file.write(",\n".join(json.dumps(n) for n in namespaces()))
        for i in range(pods):
            file.write(",\n" + json.dumps(make(i, names[i % len(names)])))
        file.write("]}")
    kubeconfig.unlink(missing_ok=True)
    sandbox = Process([options.berth, "sandbox", "--nodes", str(options.nodes), "--port", "0", "--load", str(load),
                       "--node-cpus", "64", "--no-controllers", "--field-ownership" if options.field_ownership else "--no-field-ownership",
                       "--kubeconfig", str(kubeconfig)], folder / "sandbox.log")
    scheduler = None
    try:
        while not kubeconfig.exists():
            if sandbox.child.poll() is not None:
                sys.exit((folder / "sandbox.log").read_text()[-2000:])
            time.sleep(0.05)
        port = int(re.search(r"server: http://[^:]+:(\d+)", kubeconfig.read_text())[1])
        api = Api(port)
        known = json.loads(api.request("GET", "/api/v1/nodes?limit=1"))["items"][0]["metadata"]["name"]
        if known != names[0]:
            sys.exit(f"the sandbox's first node is {known}, not {names[0]}")
        api.create_pods([make(10**6, "")])
        bindings = Bindings(port)
        time.sleep(options.settle)
        begin = time.monotonic()
        command = options.scheduler.format(kubeconfig=kubeconfig)
        scheduler = Process(shlex.split(command), folder / "scheduler.log")
        bindings.wait(1, scheduler, options.timeout)
        at_bind = scheduler.memory_mib("VmRSS")
        cpu = scheduler.cpu_seconds()
        size = {"nodes": options.nodes, "pods": pods, "kind": options.kind}
        report("start_to_first_bind", bindings.first - begin, "s", **size)
        for thread, seconds in cpu.items():
            report("start_cpu", seconds, "s", thread=thread, **size)
        report("start_cpu", sum(cpu.values()), "s", thread="all", **size)
        report("rss_at_first_bind", at_bind, "MiB", **size)
        time.sleep(2)
        report("rss", scheduler.memory_mib("VmRSS"), "MiB", **size)
        report("rss_peak", scheduler.memory_mib("VmHWM"), "MiB", **size)
        if options.burst:
            before = scheduler.cpu_seconds()
            api.create_pods(make(2 * 10**6 + i, "") for i in range(options.burst))
            bindings.wait(1 + options.burst, scheduler, options.timeout)
            time.sleep(2)
            spent = scheduler.cpu_seconds() - before
            for thread, seconds in list(spent.items()) + [("all", sum(spent.values()))]:
                report("cpu_per_bound_pod", seconds * 1e6 / options.burst, "us", thread=thread, **size)
            report("rss_after_burst", scheduler.memory_mib("VmRSS"), "MiB", **size)
        if options.pause:
            input(f"sandbox {sandbox.child.pid}, scheduler {scheduler.child.pid}: press Enter to end ")
    finally:
        if scheduler:
            scheduler.stop()
            if options.show_log:
                sys.stderr.write((folder / "scheduler.log").read_text())
        sandbox.child.kill()
        sandbox.child.wait()


def main():
    berth = HERE.parent / "build/bin/berth"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", default="0,30000", help="numbers of bound pods, measured one after the other")
    parser.add_argument("--kind", choices=KINDS, default="deployed", help="kind of the pods")
    parser.add_argument("--burst", type=int, default=0, help="number of pods to create afterwards, to measure the CPU time per bound pod")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--berth", default=str(berth), help="path of berth for the sandbox")
    parser.add_argument("--scheduler", default=f"{berth} scheduler --kubeconfig {{kubeconfig}} --leader-elect=false "
                        "--secure-port=0 --berth-http-address=127.0.0.1:0")
    parser.add_argument("--field-ownership", action="store_true", help="the sandbox maintains managedFields")
    parser.add_argument("--settle", type=float, default=1, help="seconds between the starts of sandbox and scheduler")
    parser.add_argument("--timeout", type=float, default=300, help="seconds within which the scheduler must bind the pod")
    parser.add_argument("--pause", action="store_true", help="wait before the end, for inspection")
    parser.add_argument("--show-log", action="store_true")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()

    def report(name, value, unit, **labels):
        if options.json:
            print(json.dumps({"name": name, "value": round(value, 4), "unit": unit, **labels}), flush=True)
        else:
            about = " ".join(f"{k}={v}" for k, v in labels.items())
            print(f"{name:22} {value:10.3f} {unit:4} {about}", flush=True)

    for _ in range(options.rounds):
        for pods in (int(p) for p in options.pods.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                measure(options, pods, pathlib.Path(folder), report)


if __name__ == "__main__":
    main()
