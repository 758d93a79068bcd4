#!/usr/bin/env python3
"""A tree of Koordinator's elastic quotas in a sandbox: the scheduler and berth explain read them from the API group of
Koordinator, a quota above rejects a pod with its numbers, and the pod is retried when a pod of its sibling ends.

    quota_tree_test.py <path of the program berth>
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from quotas_test import PLAIN, Quotas  # noqa: E402 (needs the paths set above)

PREFIX = "quota.scheduling.koordinator.sh/"
TREE = PLAIN + """  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: CapacityScheduling
    args: {hierarchy: Koordinator}
"""
ABOVE = ("Insufficient quotas, quotaNameTopo: [department team-b], runtime: cpu:6, used: cpu:6, pod's request: cpu:2, "
         "exceedDimensions: [cpu]")


class QuotaTree(Quotas):
    def add_quota(self, name, least, most, labels):
        self.post("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/quotas/elasticquotas", {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": name, "labels": {PREFIX + key: value for key, value in labels.items()}},
            "spec": {"min": {"cpu": least}, "max": {"cpu": most}}})

    def add_member(self, group, name, cpu):
        self.post("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {PREFIX + "name": group}},
            "spec": {"terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})


def check(cluster):
    (cluster.folder / "tree.yaml").write_text(TREE)
    cluster.add_node("n1", 20, 64, {})
    cluster.post("/api/v1/namespaces", {"metadata": {"name": "quotas"}})
    cluster.add_quota("department", "4", "6", {"is-parent": "true"})
    cluster.add_quota("team-a", "2", "6", {"parent": "department"})
    cluster.add_quota("team-b", "2", "6", {"parent": "department"})
    cluster.add_quota("lost", "2", "6", {"parent": "missing"})
    cluster.start("scheduler", "--config=tree.yaml", "--secure-port=0", "--berth-http-address=127.0.0.1:0")
    for name in ("a-1", "a-2"):
        cluster.add_member("team-a", name, "3")
    teams = {"default/a-1", "default/a-2"}
    cluster.bound(teams)
    cluster.add_member("lost", "nowhere", "1")
    cluster.add_member("team-b", "b-1", "2")
    cluster.expect(("explain", "pod/nowhere", "--config=tree.yaml"),
                   'ElasticQuota quotas/lost: its parent "missing" does not exist')
    cluster.expect(("explain", "pod/b-1", "--config=tree.yaml"), ABOVE,
                   "quota department (above team-b) has used 6 of 6 cpu (runtime quota; minimum 4, maximum 6); the pod requests "
                   "2")
    cluster.bound(teams)
    cluster.send("DELETE", "/api/v1/namespaces/default/pods/a-1")
    cluster.bound({"default/a-2", "default/b-1"})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        cluster = QuotaTree(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder), "--pod-start", "20ms",
                            "--pod-stop", "20ms")
        try:
            check(cluster)
        finally:
            cluster.stop()
    print("a tree of quotas in a sandbox: as expected")


if __name__ == "__main__":
    main()
