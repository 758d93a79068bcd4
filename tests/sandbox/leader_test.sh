#!/bin/sh
# Two replicas of `berth scheduler` with leader election on `berth sandbox`.
#   tests/sandbox/leader_test.sh <berth>
set -eu
berth=${1:?usage: leader_test.sh <path of the program berth>}
if ! command -v kubectl >/dev/null 2>&1; then
  echo "skipped: there is no kubectl here"
  exit 77
fi

work=$(mktemp -d)
"$berth" sandbox --nodes 3 --port 0 --pod-start 0 --kubeconfig "$work/kubeconfig" >"$work/sandbox.log" 2>&1 &
pids=$!
trap 'kill -9 $pids 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM
export KUBECONFIG="$work/kubeconfig" KUBECACHEDIR="$work/cache"

# wait_for <what> <command...>: until the command succeeds.
wait_for() {
  what=$1
  shift
  for _ in $(seq 100); do
    if "$@" >/dev/null 2>&1; then
      echo "ok: $what"
      return 0
    fi
    sleep 0.2
  done
  echo "FAILED: $what"
  tail -n 20 "$work"/*.log
  exit 1
}
wait_for "the sandbox is there" test -f "$work/kubeconfig"

# replica <name> <additional configuration>
replica() {
  cat >"$work/$1.yaml" <<EOF
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: $work/kubeconfig}
leaderElection: {leaderElect: true, leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
$2
EOF
  "$berth" scheduler --config "$work/$1.yaml" -v2 --secure-port=0 --berth-http-address=127.0.0.1:0 >"$work/$1.log" 2>&1 &
  pid=$!
  pids="$pids $pid"
}
pod() {
  kubectl create -f - >/dev/null <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec: {containers: [{name: c, image: x}]}
EOF
}
bound() { [ -n "$(kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}')" ]; }
lease() { kubectl -n kube-system get lease kube-scheduler -o "jsonpath={.spec.$1}"; }
lease_is() { [ "$(lease "$1")" = "$2" ]; }
leads() { grep -q "Successfully acquired lease" "$work/$1.log"; }

replica one ""
one=$pid
wait_for "the first replica leads" leads one
replica two "delayCacheUntilActive: true"
two=$pid
wait_for "the second one is standby" grep -q "Attempting to acquire leader lease" "$work/two.log"
pod a
wait_for "the leader binds" bound a

kill -TERM $one
code=0
wait $one || code=$?
[ $code -eq 0 ] || { echo "FAILED: the leader exited with $code"; exit 1; }
wait_for "the second replica leads" leads two
pod b
wait_for "and binds" bound b
lease_is leaseTransitions 1 || { echo "FAILED: $(lease leaseTransitions) transitions"; exit 1; }

replica three ""
three=$pid
wait_for "a third one is standby" grep -q "Attempting to acquire leader lease" "$work/three.log"
kill -STOP $two
pod c
wait_for "it takes over from one that is frozen" bound c
kill -CONT $two
code=0
wait $two || code=$?
[ $code -eq 1 ] || { echo "FAILED: the frozen leader exited with $code"; exit 1; }
lease_is leaseTransitions 2 || { echo "FAILED: $(lease leaseTransitions) transitions"; exit 1; }
kubectl -n kube-system get events -o 'jsonpath={.items[*].message}' | grep -q "stopped leading" || { echo "FAILED: no event"; exit 1; }

kill -TERM $three
code=0
wait $three || code=$?
[ $code -eq 0 ] || { echo "FAILED: the last leader exited with $code"; exit 1; }
lease_is holderIdentity "" || { echo "FAILED: the lease was not released"; exit 1; }
echo "ok: everybody left in order"
