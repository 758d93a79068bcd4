"""The commands of docs/guide/first-afternoon.md with their expected output."""
from dataclasses import dataclass


@dataclass
class Step:
    line: str  # the command line, as in the guide
    # regular expressions that must each match a line; the first one's match is reported
    expects: tuple[str, ...] = ()
    never: str = r"\b[Ff]orbidden\b|[Pp]ermission denied|command not found|Traceback"
    online: bool = False  # needs network access
    timeout: int = 0  # seconds in which the command is repeated until the output is as expected
    # a command that must succeed afterwards; an additional check that the guide does not contain
    also: str = ""
    headline: bool = False  # the result that represents all steps of its section


EXAMPLES = "/usr/share/doc/berth/examples"
CONFIG = "kubectl config --kubeconfig=/etc/berth/kubeconfig"
LARGE = ('{"spec":{"schedulerName":"berth","nodeSelector":{"disktype":"ssd"},'
         '"containers":[{"name":"large","image":"nginx","resources":{"requests":{"cpu":"20"}}}]}}')
METRICS = "metrics() { kubectl --server=https://127.0.0.1:10260 --insecure-skip-tls-verify get --raw /metrics; }"


def sections(package):
    """[(heading of the guide, steps)]"""
    return [
        ("Install", [
            Step("apt update", (r"Fetched .* in .*s|Reading package lists", ), online=True, never=r"^E:|^W:"),
            Step(f"apt install ./{package}", (r"Need to get .*", r"Setting up berth \(.*"), online=True, headline=True,
                 never=r"^E:|^W:|[Ww]arning|not found"),
            Step("berth version", (r"berth .*follows Kubernetes v1\.37\.1.*", )),
            Step("man berth | head -4", (r" +berth, kube-scheduler - .*", ),
                 also=". /usr/share/bash-completion/bash_completion && { _completion_loader berth; complete -p berth; }"),
            Step("berth config check /etc/berth/scheduler.yaml", (r".+", )),
        ]),
        ("What would change", [
            Step("berth migrate check --kubeconfig /etc/kubernetes/admin.conf --manifest /etc/kubernetes/manifests/kube-scheduler.yaml",
                 (r".*(?<!not )ready for Berth.*", ), headline=True),
        ]),
        ("An account", [
            Step(f"kubectl apply -k {EXAMPLES}/rbac", (r"clusterrolebinding.*/berth created", r"serviceaccount/berth created")),
            Step(f"kubectl apply -f {EXAMPLES}/rbac/token.yaml", (r"secret/berth-token created", )),
            Step("secret() { kubectl -n kube-system get secret berth-token -o \"jsonpath={.data.$1}\" | base64 -d; }"),
            Step("secret 'ca\\.crt' >ca.crt"),
            Step(f"{CONFIG} set-cluster cluster --embed-certs --certificate-authority=ca.crt "
                 "--server=$(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')",
                 (r'Cluster "cluster" set.', )),
            Step(f"{CONFIG} set-credentials berth --token=$(secret token)", (r'User "berth" set.', )),
            Step(f"{CONFIG} set-context berth --cluster=cluster --user=berth", (r'Context "berth" created.', )),
            Step(f"{CONFIG} use-context berth", (r'Switched to context "berth".', )),
            Step("stat -c '%A %U' /etc/berth/kubeconfig", (r"-rw------- root", ), headline=True),
        ]),
        ("Beside kube-scheduler", [
            Step("mv /etc/berth/scheduler.yaml /etc/berth/in-place.yaml"),
            Step(f"cp {EXAMPLES}/second-scheduler/scheduler.yaml /etc/berth/"),
            Step("berth config check /etc/berth/scheduler.yaml", (r".+", )),
            Step("echo 'BERTH_FLAGS=--secure-port=10260' >/etc/default/berth"),
            Step("systemctl enable --now berth"),
            Step("systemctl is-active berth", (r"active", )),
            Step("kubectl -n kube-system get lease berth kube-scheduler",
                 (r"berth +master1_.*", r"kube-scheduler +master1_.*"), timeout=30, headline=True),
            Step("journalctl -u berth -n 3", (r".*All writes of the previous leader have been received.*", ), timeout=10),
        ]),
        ("Pods", [
            Step("""kubectl run hello --image=nginx --overrides='{"spec":{"schedulerName":"berth"}}'""", (r"pod/hello created", )),
            Step("kubectl run other --image=nginx", (r"pod/other created", )),
            Step("kubectl wait --for=condition=Ready pod/hello pod/other --timeout=60s", (r"pod/hello condition met", r"pod/other condition met")),
            Step("kubectl get events --field-selector reason=Scheduled "
                 "-o custom-columns=POD:.involvedObject.name,BY:.reportingComponent,SAYS:.message",
                 (r"hello +berth +Successfully assigned default/hello to node.*", r"other +default-scheduler +Successfully .*"), timeout=10, headline=True),
            Step("kubectl describe pod hello | grep -A 5 ^Events", (r" *Normal +Scheduled +.* berth +Successfully assigned default/hello to node.*", )),
        ]),
        ("Why is it pending?", [
            Step("kubectl label node node2 disktype=ssd", (r"node/node2 labeled", )),
            Step(f"kubectl run large --image=nginx --overrides='{LARGE}'", (r"pod/large created", )),
            Step("kubectl wait --for=condition=PodScheduled=false pod/large --timeout=60s", (r"pod/large condition met", )),
            Step("kubectl events --for pod/large", (r".*FailedScheduling.*0/3 nodes are available.*", ), timeout=10),
            Step("kubectl get nodes,pods -A -o json >cluster.json"),
            Step("berth explain --config /etc/berth/scheduler.yaml -f cluster.json --pod default/large -o wide", (r" +requests 20; node2 lacks 4 .*", r".*node1.*", r".*Insufficient cpu.*", r".*untolerated taint.*"), headline=True),
        ]),
        ("Watch it", [
            Step("curl -s http://127.0.0.1:10251/healthz", (r"ok", )),
            Step("curl -sk https://127.0.0.1:10260/readyz?verbose", (r"\[\+\].*ok", r"readyz check passed")),
            Step(METRICS),
            Step("metrics | grep '^scheduler_schedule_attempts_total'",
                 (r'.*profile="berth",result="scheduled".* 1', r'.*profile="berth",result="unschedulable".*'), headline=True),
            Step("metrics | grep '^berth_pending_pods_by_cause'", (r'.*cause="NodeAffinity\+NodeResourcesFit.* 1', )),
        ]),
        ("In kube-scheduler's place", [
            Step("kubectl delete pod large", (r'pod "large" deleted.*', )),
            Step("kubectl get pods -A --field-selector spec.schedulerName=berth", (r"default +hello .*Running.*", )),
            Step("systemctl stop berth"),
            Step("mv /etc/berth/in-place.yaml /etc/berth/scheduler.yaml"),
            Step("mv /etc/berth/kubeconfig /etc/berth/kubeconfig.beside"),
            Step("install -m 600 /etc/kubernetes/scheduler.conf /etc/berth/kubeconfig"),
            Step("systemctl start berth"),
            Step("metrics | grep '^leader_election_master_status'", (r"leader_election_master_status.* 0", ), timeout=20),
            Step("mv /etc/kubernetes/manifests/kube-scheduler.yaml /etc/kubernetes/"),
            Step("metrics | grep '^leader_election_master_status'", (r"leader_election_master_status.* 1", ), timeout=40, headline=True),
            Step("kubectl run in-place --image=nginx", (r"pod/in-place created", )),
            Step("kubectl wait --for=condition=Ready pod/in-place --timeout=60s", (r"pod/in-place condition met", )),
            Step("metrics | grep '^scheduler_schedule_attempts_total'", (r'.*profile="default-scheduler",result="scheduled".* 1', )),
        ]),
        ("The way back", [
            Step("mv /etc/kubernetes/kube-scheduler.yaml /etc/kubernetes/manifests/"),
            Step("curl -sk --retry 30 --retry-connrefused --retry-delay 1 https://127.0.0.1:10259/healthz", (r"ok", )),
            Step("systemctl disable --now berth"),
            Step("kubectl run back --image=nginx", (r"pod/back created", )),
            Step("kubectl wait --for=condition=Ready pod/back --timeout=60s", (r"pod/back condition met", )),
            Step("kubectl events --for pod/back", (r".*Scheduled .*Successfully assigned default/back to node.*", ), timeout=10, headline=True),
            Step("kubectl -n kube-system get lease kube-scheduler", (r"kube-scheduler +master1_.*", )),
        ]),
        ("Remove", [
            Step("rm ca.crt cluster.json /etc/berth/kubeconfig /etc/berth/kubeconfig.beside"),
            Step("apt purge --autoremove berth", (r"Purging configuration files for berth.*", ), never=r"^E:|^W:|[Ww]arning", headline=True),
            Step(f"kubectl -n kube-system delete secret/berth-token serviceaccount/berth lease/berth role/berth rolebinding/berth",
                 (r'.*secret.* "berth-token" deleted.*', )),
            Step("kubectl delete clusterrole/berth clusterrolebinding/berth", (r'.*clusterrole.* "berth" deleted.*', )),
        ]),
    ]
