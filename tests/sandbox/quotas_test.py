#!/usr/bin/env python3
"""Elastic quotas of a sandbox: berth explain and berth what-if read them from the API server if a plugin of their
configuration, or of the one they compare with, does; and the answer of berth what-if is what a scheduler does.

    quotas_test.py <path of the program berth>
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from running import Running  # noqa: E402 (needs the paths set above)

PLAIN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: kubeconfig}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
"""
QUOTAS = PLAIN + """  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: "*"}]}
"""
OVER_MAXIMUM = "Pod research/third is rejected in PreFilter because ElasticQuota research is more than Max"


def pod(namespace, name, cpu):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}


class Quotas(Running):
    def add_tenant(self, namespace):
        self.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.post(f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/elasticquotas", {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "quota"},
            "spec": {"min": {"cpu": "4"}, "max": {"cpu": "6"}}})

    def add_pod(self, namespace, name, cpu):
        self.post(f"/api/v1/namespaces/{namespace}/pods", pod(namespace, name, cpu))

    def bound(self, *choices):
        """Waits until exactly the pods of one of these sets have a node."""
        def holds():
            pods = self.get("/api/v1/pods")["items"]
            now = {f"{p['metadata']['namespace']}/{p['metadata']['name']}" for p in pods if p["spec"].get("nodeName")}
            return now in choices
        self.wait(f"exactly {' or '.join(map(str, choices))} on nodes", holds)

    def run(self, *argv):
        done = subprocess.run((self.berth, *argv, "--kubeconfig", "kubeconfig"), cwd=self.folder, capture_output=True,
                              text=True)
        if done.returncode != 0:
            sys.exit(f"error: berth {' '.join(argv)}: {done.stderr}")
        return " ".join(done.stdout.split())

    def expect(self, argv, *parts):
        text = self.run(*argv)
        for part in parts:
            if part not in text:
                sys.exit(f"error: berth {' '.join(argv)}: expected {part!r} in {text}")


def check(cluster):
    for name, text in (("plain.yaml", PLAIN), ("quotas.yaml", QUOTAS)):
        (cluster.folder / name).write_text(text)
    (cluster.folder / "serve.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: serve, namespace: products}, spec: {terminationGracePeriodSeconds: 1,"
        " containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}")
    cluster.add_node("n1", 20, 64, {})
    for namespace in ("research", "products"):
        cluster.add_tenant(namespace)
    cluster.start("scheduler", "--config=quotas.yaml", "--secure-port=0", "--berth-http-address=127.0.0.1:0")
    for name in ("first", "second"):
        cluster.add_pod("research", name, "3")
    cluster.bound({"research/first", "research/second"})
    cluster.add_pod("research", "third", "1")
    cluster.expect(("explain", "pod/third", "-n", "research", "--config=quotas.yaml"), OVER_MAXIMUM,
                   "namespace research has used 6 of 6 cpu (maximum of ElasticQuota quota); the pod requests 1")
    cluster.expect(("explain", "pod/third", "-n", "research", "--config=plain.yaml"), "goes to n1")
    cluster.expect(("what-if", "--config=plain.yaml", "--compare-config=quotas.yaml", "--running-pods"),
                   "research/third: n1 -> no node")
    cluster.expect(("what-if", "--config=quotas.yaml"), OVER_MAXIMUM)
    cluster.expect(("what-if", "--config=quotas.yaml", "--add-pods", "serve.yaml"), "pod research/third: 1 pod on n1",
                   "pod products/serve: 1 pod on n1", "on n1, priority 0, by products/serve of priority 0")
    # The same in reality: the minimum of the other tenant is reclaimed, and the third pod fits then.
    cluster.add_pod("products", "serve", "3")
    others = {"products/serve", "research/third"}
    cluster.bound({"research/first", *others}, {"research/second", *others})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Quotas(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder), "--pod-start", "20ms", "--pod-stop", "20ms")
        try:
            check(cluster)
        finally:
            cluster.stop()
    print("elastic quotas of a sandbox: as expected")


if __name__ == "__main__":
    main()
