#!/bin/sh
# Runs the real kubectl against `berth sandbox` and `berth scheduler`: workloads, their controllers, failing nodes,
# saving and loading.
#   tests/sandbox/workloads_test.sh <berth>
set -eu
berth=${1:?usage: workloads_test.sh <path of the program berth>}
if ! command -v kubectl >/dev/null 2>&1; then
  echo "skipped: there is no kubectl here"
  exit 77
fi

work=$(mktemp -d)
sandbox= scheduler=
stop() {
  for child in $scheduler $sandbox; do kill "$child" 2>/dev/null || true; done
  for child in $scheduler $sandbox; do wait "$child" 2>/dev/null || true; done
  sandbox= scheduler=
}
trap 'stop; rm -rf "$work"' EXIT INT TERM
# start <flags of the sandbox>: a sandbox and its scheduler.
start() {
  rm -f "$work/kubeconfig"
  "$berth" sandbox --port 0 --pod-start 0.1 --pod-stop 0.1 --kubeconfig "$work/kubeconfig" "$@" >>"$work/log" 2>&1 &
  sandbox=$!
  for _ in $(seq 150); do
    [ -f "$work/kubeconfig" ] && break
    sleep 0.2
  done
  "$berth" scheduler --kubeconfig "$work/kubeconfig" --secure-port 0 --leader-elect=false --berth-http-address 127.0.0.1:0 >>"$work/scheduler.log" 2>&1 &
  scheduler=$!
}
export KUBECONFIG="$work/kubeconfig"
export KUBECACHEDIR="$work/cache"

failures=0
# check <what> <text it must contain> <command...>: the output, errors included, must contain the text.
check() {
  what=$1 wanted=$2
  shift 2
  output=$("$@" 2>&1) || true
  case $output in
    *"$wanted"*) echo "ok: $what" ;;
    *)
      failures=$((failures + 1))
      echo "FAILED: $what"
      echo "  command: $*"
      echo "  wanted:  $wanted"
      echo "$output" | sed 's/^/  got:     /'
      ;;
  esac
}
# eventually <what> <text> <command...>: the same within twenty seconds.
eventually() {
  what=$1 wanted=$2
  shift 2
  for _ in $(seq 40); do
    case $("$@" 2>&1 || true) in *"$wanted"*) break ;; esac
    sleep 0.5
  done
  check "$what" "$wanted" "$@"
}
apply() { kubectl apply -f - ; }
images() { kubectl get pods -l "app=$1" -o 'jsonpath={.items[*].spec.containers[0].image}'; }
count() { kubectl get pods -l "$1" --no-headers 2>/dev/null | wc -l | sed 's/^/pods: /'; }
ready() { kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'; }

cat >"$work/nodes.yaml" <<YAML
groups:
- {count: 4, name: worker-#, cpu: 8, memory: 32Gi, zones: [a, b]}
- {name: gpu, cpu: 64, memory: 512Gi, resources: {nvidia.com/gpu: 8}, taints: ["nvidia.com/gpu=present:NoSchedule"]}
YAML
start --nodes-file "$work/nodes.yaml" --node-grace-period 2 --heartbeat 0.5 --save "$work/saved.yaml"

check "nodes of the file"          "worker-4"                    kubectl get nodes
check "their extended resources"   "nvidia.com/gpu"              kubectl describe node gpu

check "create deployment"          "created"                     kubectl create deployment web --image nginx:1 --replicas 3
check "rollout status"             "successfully rolled out"     kubectl rollout status deployment web --timeout 30s
check "all of it"                  "replicaset.apps/web-"        kubectl get all
check "scale"                      "scaled"                      kubectl scale deployment web --replicas 5
check "until it is scaled"         "successfully rolled out"     kubectl rollout status deployment web --timeout 30s
check "five pods"                  "pods: 5"                     count app=web
check "a new image"                "image updated"               kubectl set image deployment web nginx=nginx:2
check "is rolled out"              "successfully rolled out"     kubectl rollout status deployment web --timeout 30s
check "history"                    "2         <none>"            kubectl rollout history deployment web
check "undo"                       "rolled back"                 kubectl rollout undo deployment web
check "is rolled out, too"         "successfully rolled out"     kubectl rollout status deployment web --timeout 30s
check "the old image is back"      "nginx:1"                     images web
check "restart"                    "restarted"                   kubectl rollout restart deployment web
check "and done"                   "successfully rolled out"     kubectl rollout status deployment web --timeout 30s
check "pause"                      "paused"                      kubectl rollout pause deployment web
check "resume"                     "resumed"                     kubectl rollout resume deployment web
check "events report it"           "Scaled up replica set web-"  kubectl get events

check "a set, a daemon, a service" "service/web created"         apply <<YAML
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 4, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
YAML
check "stateful set: status"       "roll"                        kubectl rollout status statefulset db --timeout 30s
check "stateful set: names"        "db-1"                        kubectl get pods -l app=db
check "stateful set: new image"    "image updated"               kubectl set image statefulset db c=db:2
eventually "stateful set: rolled"  "db:2 db:2"                   images db
check "stateful set: undo"         "rolled back"                 kubectl rollout undo statefulset db
eventually "stateful set: back"    "db:1 db:1"                   images db
check "daemon set: status"         "successfully rolled out"     kubectl rollout status daemonset agent --timeout 30s
check "daemon set: not on the GPU" "pods: 4"                     count app=agent
check "daemon set: new image"      "image updated"               kubectl set image daemonset agent c=agent:2
check "daemon set: rolled"         "successfully rolled out"     kubectl rollout status daemonset agent --timeout 30s
check "daemon set: history"        "2         <none>"            kubectl rollout history daemonset agent
check "endpoints"                  "10."                         kubectl get endpoints web -o yaml
check "the budget allows one"      "1"                           kubectl get pdb web -o 'jsonpath={.status.disruptionsAllowed}'

check "a job"                      "created"                     kubectl create job hello --image busybox -- sh -c 'sleep 1'
check "is done"                    "condition met"               kubectl wait --for=condition=complete job/hello --timeout 20s
check "a job that fails"           "created"                     kubectl create job bad --image busybox -- false
eventually "is seen to fail"       "1"                           kubectl get job bad -o 'jsonpath={.status.failed}'
check "a cron job"                 "created"                     kubectl create cronjob tick --image busybox --schedule '0 0 1 1 *' -- true
check "a job made from it"         "created"                     kubectl create job now --from cronjob/tick
check "is done, too"               "condition met"               kubectl wait --for=condition=complete job/now --timeout 20s

check "drain obeys the budget"     "node/worker-1 drained"       kubectl drain worker-1 --ignore-daemonsets --timeout 60s
check "uncordon"                   "uncordoned"                  kubectl uncordon worker-1
check "until all are back"         "successfully rolled out"     kubectl rollout status deployment web --timeout 30s

check "a node falls silent"        "annotated"                   kubectl annotate node worker-2 sandbox.berth.dev/failure=silent
eventually "and is noticed"        "Unknown"                     ready worker-2
check "it is tainted"              "node.kubernetes.io/unreachable" kubectl describe node worker-2
check "and is ready again"        "annotated"                   kubectl annotate node worker-2 sandbox.berth.dev/failure-
eventually "as ready"              "True"                        ready worker-2
check "a node under pressure"      "annotated"                   kubectl annotate node worker-3 sandbox.berth.dev/failure=memory-pressure
eventually "is tainted"            "node.kubernetes.io/memory-pressure" kubectl describe node worker-3

check "delete, orphans"            "deleted"                     kubectl delete deployment web --cascade=orphan
check "keeps the pods"             "pods: 5"                     count app=web
check "delete in the foreground"   "deleted"                     kubectl delete daemonset agent --cascade=foreground --timeout 30s
check "keeps no pods"              "pods: 0"                     count app=agent

# Otherwise it would continue to create pods, perhaps while the cluster is being saved.
check "the failing job is deleted" "deleted"                     kubectl delete job bad --cascade=foreground --timeout 30s
pods=$(kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.uid}{" "}{.spec.nodeName}{"\n"}{end}')
kill -USR1 "$sandbox"
eventually "saves on SIGUSR1"      "kind: StatefulSet"           cat "$work/saved.yaml"
stop
check "saves at the end"           "kind: StatefulSet"           cat "$work/saved.yaml"
start --load "$work/saved.yaml"
check "loads it"                   "worker-4"                    kubectl get nodes
check "the same pods"              "$pods"                       kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.uid}{" "}{.spec.nodeName}{"\n"}{end}'
check "reports what it loaded"     "loaded"                      cat "$work/log"
echo 'groups: [{cpus: 4}]' >"$work/bad.yaml"
check "mistakes are named"         'did you mean "cpu"?'         "$berth" sandbox --nodes-file "$work/bad.yaml"
echo '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"containers":"y"}}' >"$work/bad.json"
check "in objects, too"            "containers"                  "$berth" sandbox --load "$work/bad.json" --port 0

[ "$failures" -eq 0 ] || { echo "$failures checks failed; log of the sandbox:"; cat "$work/log"; exit 1; }
