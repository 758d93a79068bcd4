#!/bin/sh
# Schedules the pods of Spark and Flink (tests/sandbox/jobs) in a sandbox with the plugin Gangs: the driver and the
# JobManager on their own, the executors and the TaskManagers together or not at all.
#   tests/sandbox/jobs_test.sh <berth> <directory of the pods> <configuration>
set -eu
usage="usage: jobs_test.sh <path of the program berth> <directory of the pods> <configuration>"
berth=${1:?$usage}
jobs=${2:?$usage}
config=${3:?$usage}
if ! command -v kubectl >/dev/null 2>&1; then
  echo "skipped: there is no kubectl here"
  exit 77
fi

work=$(mktemp -d)
sandbox= scheduler=
stop() {
  for child in $scheduler $sandbox; do kill "$child" 2>/dev/null || true; done
  for child in $scheduler $sandbox; do wait "$child" 2>/dev/null || true; done
}
trap 'stop; rm -rf "$work"' EXIT INT TERM
cat >"$work/nodes.yaml" <<YAML
groups:
- {count: 3, name: worker-#, cpu: 3, memory: 8Gi}
YAML
"$berth" sandbox --port 0 --nodes-file "$work/nodes.yaml" --pod-start 0.1 --kubeconfig "$work/kubeconfig" >"$work/log" 2>&1 &
sandbox=$!
for _ in $(seq 150); do
  [ -f "$work/kubeconfig" ] && break
  sleep 0.2
done
"$berth" scheduler --config "$config" --kubeconfig "$work/kubeconfig" --secure-port 0 \
  --berth-http-address 127.0.0.1:0 >"$work/scheduler.log" 2>&1 &
scheduler=$!
export KUBECONFIG="$work/kubeconfig"
export KUBECACHEDIR="$work/cache"

failures=0
# expect <what> <wanted> <got>
expect() {
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    failures=$((failures + 1))
    echo "FAILED: $1: wanted \"$2\", got \"$3\""
  fi
}
# bound <selector>: the number of its pods that have a node.
bound() { kubectl get pods -l "$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c . || true; }
# scheduled <selector>, rejected <pod>: wait for the condition.
scheduled() { kubectl wait pods -l "$1" --for=condition=PodScheduled --timeout 30s >"$work/wait" 2>&1 || true; }
rejected() { kubectl wait "pod/$1" --for=condition=PodScheduled=false --timeout 30s >"$work/wait" 2>&1 || true; }
# fill <name>: a pod that takes one of the two places of a node.
fill() {
  kubectl apply -f - >"$work/apply" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {fills: "true"}}
spec: {containers: [{name: c, image: registry.example/c, resources: {requests: {cpu: "1"}}}]}
YAML
}

# A node of three cores has room for two pods of one core. Spark: five pods for six places; two are taken at first.
fill one
fill two
scheduled fills=true
kubectl apply -f "$jobs/spark-driver.yaml" >"$work/apply"
scheduled spark-role=driver
expect "the driver is bound on its own" 1 "$(bound spark-role=driver)"
uid=$(kubectl get pod pi-8f1b2c9a5d3e4f60-driver -o 'jsonpath={.metadata.uid}')
sed "s/DRIVER_UID/$uid/" "$jobs/spark-executors.yaml" >"$work/executors.yaml"
kubectl apply -f "$work/executors.yaml" >"$work/apply"
rejected pi-8f1b2c9a5d3e4f60-exec-1
expect "three executors would fit: none is bound" 0 "$(bound spark-role=executor)"
kubectl delete pod one --wait=true >"$work/apply"
scheduled spark-role=executor
expect "four executors fit: all are bound" 4 "$(bound spark-role=executor)"

# Flink: four pods for six places; four are taken at first.
kubectl delete pods --all --wait=true >"$work/apply"
for name in one two three four; do fill "$name"; done
scheduled fills=true
kubectl apply -f "$jobs/flink-jobmanager.yaml" >"$work/apply"
kubectl rollout status deployment wordcount --timeout 30s >"$work/wait" 2>&1 || true
expect "the JobManager is bound on its own" 1 "$(bound component=jobmanager)"
uid=$(kubectl get deployment wordcount -o 'jsonpath={.metadata.uid}')
sed "s/DEPLOYMENT_UID/$uid/" "$jobs/flink-taskmanagers.yaml" >"$work/taskmanagers.yaml"
kubectl apply -f "$work/taskmanagers.yaml" >"$work/apply"
rejected wordcount-taskmanager-1-1
expect "one TaskManager would fit: none is bound" 0 "$(bound component=taskmanager)"
kubectl delete pods one two --wait=true >"$work/apply"
scheduled component=taskmanager
expect "three TaskManagers fit: all are bound" 3 "$(bound component=taskmanager)"

if [ "$failures" -gt 0 ]; then
  tail -n 20 "$work/scheduler.log"
  exit 1
fi
