#!/usr/bin/env bash
# Builds examples/loaded-plugins with only the compiler and the header, loads them into the scheduler on a simulated
# cluster, and then replaces one library: pods are placed differently without rebuilding Berth.
#   cluster_test.sh <berth> <folder of berth_plugin.h>
set -euo pipefail
berth=$1 include=$2
examples=$(cd "$(dirname "$0")/../../examples/loaded-plugins" && pwd)
run=$(mktemp -d)
pids=()
scheduler=
trap 'kill "${pids[@]}" $scheduler 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$run"' EXIT

fail() {
  echo "loaded plugins: $1" >&2
  [ -f "$run/scheduler.log" ] && tail -20 "$run/scheduler.log" >&2
  exit 1
}
wait_for() {
  for _ in $(seq 300); do
    if eval "$2" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$1 did not happen within 30 s"
}

# --- building a plugin ---
compile_c() { ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC -I"$include" "$1" -o "$2"; }
compile_cpp() { ${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC -I"$include" "$1" -o "$2"; }
compile_c "$examples/headroom.c" "$run/headroom.so"
compile_cpp "$examples/gangs.cpp" "$run/gangs.so"
# The same plugin with the opposite score: prefers full nodes.
sed 's|left \* BERTH_MAX_SCORE / allocatable\[row\]|BERTH_MAX_SCORE - left * BERTH_MAX_SCORE / allocatable[row]|' \
  "$examples/headroom.c" >"$run/packing.c"
cmp -s "$examples/headroom.c" "$run/packing.c" && fail "the line to change is not in headroom.c"
compile_c "$run/packing.c" "$run/packing.so"

cat >"$run/config.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Headroom, weight: 1000}, {name: SpacedGangs}]
  pluginConfig:
  - {name: Headroom, args: {percent: 10}}
  - {name: SpacedGangs, args: {mostPerNode: 1, waitSeconds: 5, ledger: $run/ledger}}
END

# --- checks without a cluster ---
loading=("--berth-plugin=$run/headroom.so" "--berth-plugin=$run/gangs.so")
"$berth" config check "${loading[@]}" "$run/config.yaml" >"$run/check.log" 2>&1 || fail "the configuration is refused: $(cat "$run/check.log")"
refused() {
  local text=$1
  shift
  if "$berth" "$@" >"$run/refused.log" 2>&1; then fail "not refused: $*"; fi
  grep -qF -- "$text" "$run/refused.log" || fail "\"$text\" is not in: $(cat "$run/refused.log")"
}
refused '"Headroom" does not exist' config check "--berth-plugin=$run/gangs.so" "$run/config.yaml"
refused 'plugin "Headroom" already exists' config check "${loading[@]}" "--berth-plugin=$run/headroom.so" "$run/config.yaml"
refused 'not a shared object' scheduler "--berth-plugin=$examples/headroom.c"
sed 's/percent: 10/percent: 100/' "$run/config.yaml" >"$run/wrong.yaml"
refused 'pluginConfig[0].args.percent: Invalid value' config check "${loading[@]}" "$run/wrong.yaml"
sed 's/"Headroom"/"NodeName"/' "$examples/headroom.c" >"$run/namesake.c"
compile_c "$run/namesake.c" "$run/namesake.so"
refused 'plugin "NodeName" already exists' explain "--berth-plugin=$run/namesake.so" -f "$run/config.yaml"

# An error during a decision fails the pod, with the plugin's name.
cat >"$run/cluster.yaml" <<END
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: p}, spec: {schedulerName: default-scheduler, containers: [{name: c}]}}
END
mistaken() { # sed expression, text
  sed "$1" "$examples/headroom.c" >"$run/mistaken.c"
  compile_c "$run/mistaken.c" "$run/mistaken.so"
  "$berth" explain "--berth-plugin=$run/mistaken.so" "--berth-plugin=$run/gangs.so" --config "$run/config.yaml" -f "$run/cluster.yaml" -o json >"$run/explained.log" 2>&1 || true
  grep -qF -- "$2" "$run/explained.log" || fail "\"$2\" is not in: $(cat "$run/explained.log")"
}
mistaken 's|left \* BERTH_MAX_SCORE / allocatable|left * 1000 / allocatable|' 'Headroom\" returns an invalid score'
mistaken 's|return BERTH_SKIP|return 77|; s|? BERTH_SKIP|? 77|; s|: BERTH_SUCCESS;|: 77;|' 'pre_filter returned 77, expected one of 0 (Success)'
mistaken 's|if (rejected == NULL) return;|if (rejected != NULL) rejected[0] = 4; else return;|' 'filter rejected row 2 of a table of 2'

# --- a cluster ---
"$berth" sandbox --nodes=3 --port=0 --kubeconfig="$run/kubeconfig" >"$run/sandbox.log" 2>&1 &
pids+=($!)
wait_for "the cluster" '[ -s "$run/kubeconfig" ]'
server=$(sed -n 's/ *server: //p' "$run/kubeconfig")
pods=$server/api/v1/namespaces/default/pods

start() {
  "$berth" scheduler "${loading[@]}" --config="$run/config.yaml" --kubeconfig="$run/kubeconfig" --v=2 --secure-port=0 \
    --berth-http-address=127.0.0.1:0 2>"$run/scheduler.log" &
  scheduler=$!
}
stop() {
  kill "$scheduler"
  wait "$scheduler" || true
  scheduler=
}
create() { # name, labels
  curl -sf -X POST -H 'Content-Type: application/yaml' --data-binary @- "$pods" >/dev/null <<END || fail "pod $1 is refused"
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {$2}}
spec:
  containers: [{name: main, image: registry.example/main, resources: {requests: {cpu: "1", memory: 1Gi}}}]
END
}
node_of() { curl -sf "$pods/$1" | grep -o '"nodeName": *"[^"]*"' | cut -d'"' -f4; }
placed() {
  wait_for "the placement of $1" "[ -n \"\$(node_of $1)\" ]"
  node_of "$1"
}

# --- the original libraries: pods are spread, and a gang starts together ---
start
create one ""
first=$(placed one)
create two ""
second=$(placed two)
[ "$first" != "$second" ] || fail "the second pod went where the first is"
create left "gang: crew, gang-size: '2'"
wait_for "the waiting of the first member" 'grep -q "default/left" "$run/scheduler.log"'
[ -z "$(node_of left || true)" ] || fail "a member starts alone"
create right "gang: crew, gang-size: '2'"
left=$(placed left) right=$(placed right)
[ "$left" != "$right" ] || fail "two members on one node"
grep -q "default/crew left $left" "$run/ledger" && grep -q "default/crew right $right" "$run/ledger" ||
  fail "PreBind wrote: $(cat "$run/ledger")"
wait_for "PostBind" 'grep -q "A member of default/crew is bound" "$run/scheduler.log"'
# Two of three members: when the first one times out, the second must be rejected, too.
create early "gang: half, gang-size: '3'"
wait_for "the waiting of the first of three" 'grep -q "default/early" "$run/scheduler.log"'
sleep 1
create late "gang: half, gang-size: '3'"
wait_for "the end of the second one's waiting" 'curl -sf "$server/api/v1/namespaces/default/events" | grep -q "another member of the gang gave up its place"'
[ -z "$(node_of early || true)$(node_of late || true)" ] || fail "a gang that is not complete has started"
curl -sf -X DELETE "$pods/early" >/dev/null
curl -sf -X DELETE "$pods/late" >/dev/null
curl -sf -X DELETE "$pods/left" >/dev/null
curl -sf -X DELETE "$pods/right" >/dev/null
wait_for "the end of the gang" '! node_of left && ! node_of right'
stop

# --- another library at the same path ---
cp "$run/packing.so" "$run/new.so" && mv "$run/new.so" "$run/headroom.so"
start
create three ""
third=$(placed three)
case "$third" in
  "$first" | "$second") ;;
  *) fail "the exchanged plugin does not fill nodes up: $third is empty but for this pod" ;;
esac
stop
echo "plugins were loaded, took part everywhere, and one was exchanged without building Berth anew"
