#!/bin/sh
# Places the jobs of examples/taskmanagers in a sandbox and checks the zones and nodes of their pods.
#   tests/sandbox/taskmanagers_test.sh <berth> <directory of the example>
set -eu
berth=${1:?usage: taskmanagers_test.sh <path of the program berth> <directory of the example>}
example=${2:?usage: taskmanagers_test.sh <path of the program berth> <directory of the example>}
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
- {count: 9, name: worker-#, cpu: 8, memory: 32Gi, zones: [a, b, c]}
YAML
"$berth" sandbox --port 0 --nodes-file "$work/nodes.yaml" --pod-start 0.1 --kubeconfig "$work/kubeconfig" >"$work/log" 2>&1 &
sandbox=$!
for _ in $(seq 150); do
  [ -f "$work/kubeconfig" ] && break
  sleep 0.2
done
"$berth" scheduler --config "$example/scheduler.yaml" --kubeconfig "$work/kubeconfig" --secure-port 0 \
  --berth-http-address 127.0.0.1:0 >"$work/scheduler.log" 2>&1 &
scheduler=$!
export KUBECONFIG="$work/kubeconfig"
export KUBECACHEDIR="$work/cache"

# places <app>: the nodes of its pods, one per line.
places() { kubectl get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep . || true; }
# zones: replaces each node on stdin by its zone.
zones() {
  while read -r node; do
    kubectl get node "$node" -o 'jsonpath={.metadata.labels.topology\.kubernetes\.io/zone}{"\n"}'
  done
}
# groups: the sizes of the groups of equal lines on stdin, in ascending order, in one line.
groups() { sort | uniq -c | awk '{print $1}' | sort -n | tr '\n' ' '; }

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

kubectl apply -f "$example/close.yaml" -f "$example/spread.yaml"
kubectl rollout status deployment orders --timeout 60s
kubectl rollout status deployment payments --timeout 60s
expect "the pods of orders are in one zone" "4 " "$(places orders | zones | groups)"
expect "on three nodes" "1 1 2 " "$(places orders | groups)"
expect "two pods of payments are in each zone" "2 2 2 " "$(places payments | zones | groups)"
expect "each on its own node" "1 1 1 1 1 1 " "$(places payments | groups)"
[ "$failures" = 0 ] || tail -n 20 "$work/scheduler.log"
exit "$failures"
