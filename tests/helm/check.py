#!/usr/bin/env python3
"""Checks the chart deploy/helm/berth without a cluster: golden files, messages, and equality with the kustomizations.

    check.py [--update] KUBECTL HELM...

--update writes the golden files instead of comparing them. Prints one line per error; exit code 1 if there is any.
"""
import copy
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import yaml

import objects

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/helm"
CHART = ROOT / "deploy/helm/berth"
MONITORING = ROOT / "deploy/monitoring"


def main(arguments):
    update = arguments[:1] == ["--update"]
    kubectl, *helms = arguments[1 if update else 0:]
    errors = versions() + generated()
    for helm in helms:
        try:
            errors += [f"{version(helm)}: {error}" for error in check(helm, kubectl, update)]
        except RuntimeError as error:  # a program that must succeed did not
            errors.append(str(error))
    for error in errors:
        print(error)
    print(f"{len(cases())} sets of values, {len(MISTAKES)} mistakes, {len(PAIRS)} comparisons with each of Helm "
          f"{', '.join(map(version, helms))}")
    return 1 if errors else 0


def check(helm, kubectl, update):
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        package = packaged(helm, folder)
        errors += package_content(package)
        for case in cases():
            errors += [f"{case.name}: {error}" for error in golden(helm, case, package, update)]
    errors += [error for mistake in MISTAKES for error in rejected(helm, *mistake)]
    errors += [error for pair in PAIRS for error in same(helm, kubectl, pair)]
    return errors + unused_differences() + job_label(helm)


# --- programs ---

def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def succeed(*command):
    code, output, error = run(*command)
    if code != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {code}: {error}{output}")
    return output


def version(helm):
    return succeed(helm, "version", "--template", "{{.Version}}").strip()


def cases():
    return sorted((HERE / "cases").glob("*.yaml"))


def template(helm, case, chart=CHART):
    """Renders a set of values with the release name and the namespace of its first line."""
    words = case.read_text().splitlines()[0].removeprefix("# helm template ").split()
    return succeed(helm, "template", words[0], chart, *words[1:], "--values", case)


# --- the chart itself ---

def versions():
    """The chart has the version of the program."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = re.search(r"project\(\s*berth\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.IGNORECASE)[1]
    return [f"Chart.yaml: {field} is {chart[field]}, the program's version is {project}"
            for field in ("version", "appVersion") if str(chart[field]) != project]


def generated():
    """README.md, values.yaml and the schema agree."""
    code, output, error = run(ROOT / "deploy/helm/render", "--check")
    return [line for line in (output + error).splitlines() if line] if code else []


def packaged(helm, folder):
    succeed(helm, "package", CHART, "--destination", folder)
    return next(pathlib.Path(folder).glob("berth-*.tgz"))


def package_content(package):
    """The package contains the files of deploy/monitoring, not links to them."""
    errors = []
    with tarfile.open(package) as tar:
        for name in ("alerts.yaml", "recording-rules.yaml", "dashboard.json"):
            member = tar.getmember(f"berth/files/{name}")
            if not member.isreg() or tar.extractfile(member).read() != (MONITORING / name).read_bytes():
                errors.append(f"the package's files/{name} is not deploy/monitoring/{name}")
    return errors


def golden(helm, case, package, update):
    errors = []
    code, output, error = run(helm, "lint", "--strict", CHART, "--values", case)
    if code:
        errors.append(f"helm lint --strict: {output}{error}")
    text = template(helm, case)
    if template(helm, case, package) != text:
        errors.append("the package renders other objects than the directory")
    rendered = objects.load(text)
    errors += dashboard(rendered)
    file = HERE / "golden" / case.name
    made = objects.dump(rendered)
    if update:
        file.write_text(made)
    expected = file.read_text() if file.exists() else ""
    if made != expected:
        diff = difflib.unified_diff(expected.splitlines(), made.splitlines(), f"tests/helm/golden/{case.name}", "rendered", lineterm="", n=1)
        errors.append("differs from its golden file (tests/helm/check --update writes it):\n" + "\n".join(list(diff)[:40]))
    return errors


def dashboard(rendered):
    wanted = json.loads((MONITORING / "dashboard.json").read_text())
    return [f"{name} is not deploy/monitoring/dashboard.json" for (kind, _, name), item in rendered.items()
            if kind == "ConfigMap" and name.endswith("-dashboard") and json.loads(item["data"]["dashboard.json"]) != wanted]


def job_label(helm):
    """Another job reaches every expression and the scrape configuration."""
    text = template(helm, HERE / "cases/monitoring.yaml")
    return ['monitoring.job=berth: job="scheduler" is left'] if re.search(r'job="scheduler"|replacement: scheduler', text) else []


# --- mistakes ---

LEASE = "leaderElection: {leaderElect: true, resourceName: kube-scheduler}\nprofiles: [{schedulerName: berth}]\n"
# (what, values, expected words of the message)
MISTAKES = [
    ("an unknown key", "replica: 2", ["replica", "not allowed"]),
    ("an unknown key of a section", "image: {name: berth}", ["image", "name", "not allowed"]),
    ("an unknown mode", "mode: extra", ["mode", "second", "extender"]),
    ("an unknown field of the configuration", "configuration: {paralelism: 4}", ["configuration", "paralelism", "not allowed"]),
    ("a profile with an unknown field", "configuration: {profiles: [{name: x}]}", ["profiles", "name", "not allowed"]),
    ("a number as text", "replicas: \"2\"", ["replicas", "integer"]),
    ("a negative number of replicas", "replicas: -1", ["replicas", "0"]),
    ("a tag in the repository", "image: {repository: \"berth:1\"}", ["repository", "pattern"]),
    ("a short digest", "image: {digest: \"sha256:12\"}", ["digest", "pattern"]),
    ("a flag without a dash", "extraArgs: [v=4]", ["extraArgs", "pattern"]),
    ("a port out of range", "securePort: 70000", ["securePort", "65,535"]),
    ("a plugin without a file", "plugins: [{name: x, configMap: cm}]", ["plugins", "file"]),
    ("a plugin from two sources", "plugins: [{name: x, file: x.so, configMap: cm, image: {reference: z}}]",
     ["plugins: x: expected exactly one of image, initContainer and configMap, found 2"]),
    ("a plugin from nowhere", "plugins: [{name: x, file: x.so}]", ["found 0"]),
    ("a plugin's path that leaves its directory", "plugins: [{name: x, file: /x.so, configMap: cm}]", ["file", "pattern"]),
    ("a secret without a path", "secretMounts: [{secretName: x}]", ["secretMounts", "mountPath"]),
    ("a feature gate that is no boolean", "featureGates: {GenericWorkload: \"yes\"}", ["GenericWorkload", "boolean"]),
    ("values and a file", "configurationFile: \"kind: KubeSchedulerConfiguration\"\nconfiguration: {parallelism: 4}",
     ["configuration and configurationFile: only one may be set"]),
    ("a file that is no YAML", "configurationFile: \"a: [\"", ["configurationFile: no YAML object"]),
    ("kube-scheduler's lease beside kube-scheduler", f"configurationFile: |\n  {LEASE.replace(chr(10), chr(10) + '  ')}",
     ["leaderElection.resourceName: kube-scheduler's own lease"]),
    ("a file without a lease beside kube-scheduler", "configurationFile: |\n  profiles: [{schedulerName: berth}]\n",
     ["leaderElection.resourceName: kube-scheduler's own lease"]),
    ("kube-scheduler's profile beside kube-scheduler", "configuration: {profiles: [{schedulerName: default-scheduler}]}",
     ["profiles[].schedulerName: default-scheduler is kube-scheduler's"]),
    ("an unnamed profile beside kube-scheduler", "configuration: {profiles: [{percentageOfNodesToScore: 5}]}",
     ["profiles[].schedulerName: default-scheduler is kube-scheduler's"]),
    ("a replacement with another lease", "mode: replacement\nconfiguration: {leaderElection: {resourceName: berth}}",
     ["the lease is kube-system/berth", "kube-system/kube-scheduler"]),
    ("a replacement without a lease", "mode: replacement\nconfiguration: {leaderElection: {leaderElect: false}}",
     ["the lease is disabled"]),
    ("several replicas without a lease", "configuration: {leaderElection: {leaderElect: false}}",
     ["replicas: 3 replicas without leaderElection.leaderElect"]),
    ("a shadow with extenders", "mode: shadow\nconfiguration: {extenders: [{urlPrefix: \"http://x\"}]}", ["mode=shadow accepts no extenders"]),
    ("bind for every client", "mode: extender\nextender: {bind: true}", ["extender.bind: needs extender.clientCASecret"]),
    ("feature gates of an extender", "mode: extender\nfeatureGates: {GenericWorkload: true}", ["featureGates: berth extender has no"]),
    ("alerts about a shadow", "mode: shadow\nmonitoring: {rules: {enabled: true}}", ["monitoring.rules", "mode=shadow"]),
    ("metrics of a shadow without reviews", "mode: shadow\nmonitoring: {serviceMonitor: {enabled: true}}", ["shadow.reviews=true"]),
]


def rejected(helm, what, values, expected):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values)
        file.flush()
        code, _, error = run(helm, "template", "berth", CHART, "--namespace", "kube-system", "--values", file.name)
    if code == 0:
        return [f"{what} is accepted: {values}"]
    return [f"{what}: the message lacks {word!r}: {error}" for word in expected if word not in error]


# --- the chart and the kustomizations ---

GANGS = "profiles: [{schedulerName: berth, plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]"
QUOTAS = "profiles: [{schedulerName: berth, plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}}]"
NUMA = "profiles: [{schedulerName: berth, plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch}]}}}]"
TOLERATIONS = "profiles: [{schedulerName: berth, plugins: {postFilter: {enabled: [{name: PreemptionToleration}]}}}]"
MONITORED = "monitoring: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true}, metricsReader: {enabled: true}}"
LOAD = "networkPolicy: {prometheus: {enabled: true}}"
RBAC = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
# (what, resources and components below deploy/, release, values, configuration file, compared kinds; empty: all)
PAIRS = [
    ("second scheduler", ["second-scheduler"], [], "berth", "", "", set()),
    ("load-aware", ["load-aware"], [], "berth", LOAD, "load-aware/scheduler.yaml", set()),
    ("network traffic", ["network-traffic"], [], "berth", LOAD, "network-traffic/scheduler.yaml", set()),
    ("tenants", ["tenants"], [], "berth", LOAD, "tenants/scheduler.yaml", set()),
    ("monitoring", ["second-scheduler"], ["monitoring", "monitoring/operator"], "berth", MONITORED, "", set()),
    ("permissions", ["rbac"], [], "berth", "", "", RBAC),
    ("groups of other projects", ["rbac", "rbac/gangs.yaml"], [], "berth", "configuration: {" + GANGS + "}", "", RBAC),
    ("elastic quotas", ["rbac", "rbac/quotas.yaml"], [], "berth", "configuration: {" + QUOTAS + "}", "", RBAC),
    ("topologies of nodes", ["rbac", "rbac/numa.yaml"], [], "berth", "configuration: {" + NUMA + "}", "", RBAC),
    ("priority classes", ["rbac", "rbac/priority-classes.yaml"], [], "berth", "configuration: {" + TOLERATIONS + "}", "", RBAC),
    ("pod groups", ["rbac", "rbac/pod-groups.yaml"], [], "berth", "featureGates: {GenericWorkload: true}", "", RBAC),
    ("shadow", ["shadow/rbac.yaml"], [], "berth-shadow", "mode: shadow", "", RBAC),
]


def same(helm, kubectl, pair):
    what, resources, components, release, values, file, kinds = pair
    try:
        theirs = objects.load(kustomized(kubectl, resources, components))
        ours = objects.load(charted(helm, release, values, file))
    except RuntimeError as error:
        return [f"{what}: {error}"]
    ours, theirs = ({key: item for key, item in all_objects.items() if not kinds or key[0] in kinds} for all_objects in (ours, theirs))
    for difference in DIFFERENCES:
        before = copy.deepcopy((ours, theirs))
        ours, theirs = difference(ours), difference(theirs)
        if (ours, theirs) != before:
            USED.add(difference)
    errors = [f"{what}: only in the {where}: {' '.join(key)}" for where, one, other in (("chart", ours, theirs), ("kustomization", theirs, ours))
              for key in sorted(one.keys() - other.keys())]
    for key in sorted(ours.keys() & theirs.keys()):
        chart, kustomization = (yaml.safe_dump(side[key]).splitlines() for side in (ours, theirs))
        diff = list(difflib.unified_diff(kustomization, chart, "kustomization", "chart", lineterm="", n=1))
        if diff:
            errors.append(f"{what}: {' '.join(key)} differs:\n" + "\n".join(diff[:30]))
    return errors


def kustomized(kubectl, resources, components):
    """The kustomization is written beside deploy/, because kustomize accepts only relative paths."""
    with tempfile.TemporaryDirectory(dir=ROOT / "tests/helm") as folder:
        up = "../../../deploy/"
        # Single files are outside of the folder, which kustomize does not permit.
        files = [name for name in resources if name.endswith(".yaml")]
        for name in files:
            (pathlib.Path(folder) / pathlib.Path(name).name).write_text((ROOT / "deploy" / name).read_text())
        text = {"resources": [pathlib.Path(name).name if name in files else up + name for name in resources],
                "components": [up + name for name in components]}
        (pathlib.Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(text))
        return succeed(*kubectl.split(), "kustomize", folder)


def charted(helm, release, values, file):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as settings:
        settings.write(values)
        settings.flush()
        more = ["--set-file", f"configurationFile={ROOT / 'deploy' / file}"] if file else []
        return succeed(helm, "template", release, CHART, "--namespace", "kube-system", "--values", settings.name, *more)


# The intended differences: each function removes one from either side. Its first line is the reason.

def each(change):
    def apply(all_objects):
        return {key: change(copy.deepcopy(item)) for key, item in all_objects.items()}
    return apply


def labels(item):
    """Helm's usual labels; roles, accounts and Prometheus' objects of the kustomizations have no common ones."""
    kept = {key: value for key, value in item["metadata"].get("labels", {}).items()
            if key not in (*objects.CHART_LABELS, objects.INSTANCE, "app.kubernetes.io/name")}
    item["metadata"].pop("labels", None)
    return {**item, "metadata": {**item["metadata"], **({"labels": kept} if kept else {})}}


def instances(item):
    """Selectors contain the release, because two releases may share a namespace."""
    if isinstance(item, dict):
        return {key: instances(value) for key, value in item.items() if key != objects.INSTANCE}
    return [instances(value) for value in item] if isinstance(item, list) else item


HASHED = re.compile(r"^(berth-config)-[a-z0-9]{10}$")


def hashes(value):
    """The name of the ConfigMap ends with a hash, which kustomize computes in another way."""
    if isinstance(value, dict):
        return {key: hashes(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hashes(one) for one in value]
    return HASHED.sub(r"\1", value) if isinstance(value, str) else value


def renamed(all_objects):
    changed = [hashes(item) for item in all_objects.values()]
    return {(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): item for item in changed}


def configuration(item):
    """The chart generates the file, without comments and with the namespace of the lease, which is the default."""
    if item["kind"] == "ConfigMap" and "scheduler.yaml" in item["data"]:
        file = yaml.safe_load(item["data"]["scheduler.yaml"])
        file["leaderElection"].setdefault("resourceNamespace", "kube-system")
        item["data"]["scheduler.yaml"] = file
    return item


def rules(item):
    """The chart groups the rules by purpose; the permissions are the same."""
    if "rules" in item and item["kind"] in RBAC:
        item["rules"] = sorted(map(list, objects.permissions(item["rules"])))
    return item


def dashboards(item):
    """A block of text may end with a line break or not."""
    if item["kind"] == "ConfigMap" and "dashboard.json" in item["data"]:
        item["data"]["dashboard.json"] = json.loads(item["data"]["dashboard.json"])
    return item


def hooks(all_objects):
    """Only the chart has a test pod."""
    return {key: item for key, item in all_objects.items() if "helm.sh/hook" not in item["metadata"].get("annotations", {})}


DIFFERENCES = [each(labels), each(instances), renamed, each(configuration), each(rules), each(dashboards), hooks]
USED = set()


def unused_differences():
    """A difference that no comparison has is out of date."""
    return [f"the intended difference number {index + 1} of tests/helm/check.py does not occur"
            for index, difference in enumerate(DIFFERENCES) if difference not in USED]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
