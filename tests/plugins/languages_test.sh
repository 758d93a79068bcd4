#!/usr/bin/env bash
# Builds the plugins in Go and Rust of examples/loaded-plugins with only their compilers and the header, and loads both into
# one process: berth config check, berth explain, and a scheduler that places pods and ends.
#   languages_test.sh <berth> <folder of berth_plugin.h>
set -euo pipefail
berth=$(realpath "$1") include=$(realpath "$2")
examples=$(cd "$(dirname "$0")/../../examples/loaded-plugins" && pwd)
run=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$run"' EXIT

fail() {
  echo "plugins in Go and Rust: $1" >&2
  [ ! -f "$run/scheduler.log" ] || tail -20 "$run/scheduler.log" >&2
  exit 1
}
wait_for() {
  for _ in $(seq 300); do
    if eval "$2" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$1 did not happen within 30 s"
}

export CGO_CFLAGS="-I$include -O2"
(cd "$examples/maintenance" && go vet . && go build -buildmode=c-shared -o "$run/maintenance.so" .)
rustc --edition 2021 --crate-type cdylib -C opt-level=3 -D warnings "$examples/cheap-nodes/cheap_nodes.rs" -o "$run/cheap_nodes.so"
loading=("--berth-plugin=$run/maintenance.so" "--berth-plugin=$run/cheap_nodes.so")

cat >"$run/config.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Maintenance}, {name: CheapNodes, weight: 1000}]
  pluginConfig:
  - {name: Maintenance, args: {defaultMinutes: 30}}
  - {name: CheapNodes, args: {label: price}}
END
node() { # name, labels, annotations
  printf '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s", "labels": {%s}, "annotations": {%s}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}\n' "$1" "$2" "$3" >"$run/node-$1.json"
}
node cheap '"price": "0.5"' ''
node fair '"price": "1"' ''
node dear '"price": "2.5"' ''
node unpriced '' ''
node closing '"price": "0.1"' "\"example.com/maintenance-from\": \"$(date -u -d '+1 hour' +%FT%TZ)\""
node unreadable '"price": "0.1"' '"example.com/maintenance-from": "tomorrow"'
pod() { # name, annotations
  printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "default", "uid": "%s", "annotations": {%s}}, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "registry.example/main"}]}}\n' "$1" "$1" "$2"
}

# --- arguments ---
"$berth" config check "${loading[@]}" "$run/config.yaml" >"$run/check.log" 2>&1 || fail "the configuration is refused: $(cat "$run/check.log")"
refused() { # sed expression, text
  sed "$1" "$run/config.yaml" >"$run/wrong.yaml"
  if "$berth" config check "${loading[@]}" "$run/wrong.yaml" >"$run/refused.log" 2>&1; then fail "not refused: $1"; fi
  grep -qF -- "$2" "$run/refused.log" || fail "\"$2\" is not in: $(cat "$run/refused.log")"
}
refused 's/defaultMinutes: 30/defaultMinutes: -1/' 'pluginConfig[0].args.defaultMinutes: Invalid value: must not be negative'
refused 's/label: price/label: ""/' 'pluginConfig[1].args.label: Required value'
refused 's/label: price/labels: price/' 'unknown field "labels"'

# --- decisions: half an hour fits before the maintenance, two hours do not ---
pod short '' >"$run/short.json"
pod long '"example.com/expected-minutes": "120"' >"$run/long.json"
explained() { # pod, file for its record
  "$berth" explain "${loading[@]}" --config "$run/config.yaml" "$run"/node-*.json "$run/$1.json" -o json >"$run/$1.record" 2>"$run/$1.log" ||
    fail "explain: $(cat "$run/$1.log")"
}
has() { grep -qF -- "$2" "$run/$1.record" || fail "\"$2\" is not in: $(cat "$run/$1.record")"; }
explained short
has short '"node":"closing"'
has short '"plugin":"Maintenance","reasons":["node(s) had a maintenance time that is not in the form of RFC 3339"]'
explained long
has long '"node":"cheap"'
has long '"node(s) had a maintenance before the pod'"'"'s expected end"'
has long '"CheapNodes":100000'
has long '"CheapNodes":75000'

# --- a scheduler ---
"$berth" sandbox --nodes=0 --port=0 --kubeconfig="$run/kubeconfig" >"$run/sandbox.log" 2>&1 &
pids+=($!)
wait_for "the cluster" '[ -s "$run/kubeconfig" ]'
server=$(sed -n 's/ *server: //p' "$run/kubeconfig")
pods=$server/api/v1/namespaces/default/pods
"$berth" scheduler "${loading[@]}" --config="$run/config.yaml" --kubeconfig="$run/kubeconfig" --secure-port=0 \
  --berth-http-address=127.0.0.1:0 2>"$run/scheduler.log" &
scheduler=$!
pids+=($scheduler)
for node in "$run"/node-*.json; do
  curl -sf -X POST -H 'Content-Type: application/json' --data-binary "@$node" "$server/api/v1/nodes" >/dev/null || fail "$node is refused"
done
wait_for "the nodes" 'grep -q "Caches are synced" "$run/scheduler.log"'
for name in short long; do
  curl -sf -X POST -H 'Content-Type: application/json' --data-binary "@$run/$name.json" "$pods" >/dev/null || fail "pod $name is refused"
done
node_of() { curl -sf "$pods/$1" | grep -o '"nodeName": *"[^"]*"' | cut -d'"' -f4; }
wait_for "the placement of both pods" '[ "$(node_of short)" = closing ] && [ "$(node_of long)" = cheap ]'
kill -TERM "$scheduler"
wait "$scheduler" || fail "the scheduler ended with exit code $?"
echo "plugins in Go and Rust were built, checked and loaded; the scheduler placed two pods with them and ended"
