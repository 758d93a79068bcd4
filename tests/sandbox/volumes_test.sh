#!/bin/sh
# Volumes from claim to pod: `berth sandbox` simulates the provisioner and the binding controller, `berth scheduler`
# selects the node.
#   tests/sandbox/volumes_test.sh <berth>
set -eu
berth=${1:?usage: volumes_test.sh <path of the program berth>}
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
export KUBECONFIG="$work/kubeconfig" KUBECACHEDIR="$work/cache"
cat >"$work/nodes.yaml" <<YAML
groups:
- {count: 4, name: worker-#, cpu: 8, memory: 32Gi, zones: [a, b]}
YAML
"$berth" sandbox --port 0 --pod-start 0.1 --pod-stop 0.1 --nodes-file "$work/nodes.yaml" --kubeconfig "$KUBECONFIG" >"$work/log" 2>&1 &
sandbox=$!
for _ in $(seq 150); do [ -f "$KUBECONFIG" ] && break; sleep 0.2; done
"$berth" scheduler --kubeconfig "$KUBECONFIG" --secure-port 0 --leader-elect=false --berth-http-address 127.0.0.1:0 >"$work/scheduler.log" 2>&1 &
scheduler=$!

failures=0
# eventually <what> <text> <command...>: within twenty seconds the output contains the text.
eventually() {
  what=$1 wanted=$2
  shift 2
  for _ in $(seq 40); do
    output=$("$@" 2>&1) || true
    case $output in *"$wanted"*) echo "ok: $what"; return ;; esac
    sleep 0.5
  done
  failures=$((failures + 1))
  echo "FAILED: $what"
  echo "  command: $*"
  echo "  wanted:  $wanted"
  echo "$output" | sed 's/^/  got:     /'
}
field() { kubectl get "$1" "$2" -o "jsonpath=$3"; }
node_of_claim() { field pvc "$1" '{.metadata.annotations.volume\.kubernetes\.io/selected-node}'; }

disk() { # disk <name>: a volume on worker-3
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: $1}
spec:
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [worker-3]}]}]}}
YAML
}

disk disk-of-3
kubectl apply -f - >/dev/null <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: static}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fresh}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: none-left}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
YAML
pod() { # pod <name> <claim> [node]: a pod with that claim
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  nodeSelector: {${3:+kubernetes.io/hostname: $3}}
  containers: [{name: c, image: busybox}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: $2}}]
YAML
}
eventually "claims wait for a pod"             "Pending"   field pvc fresh '{.status.phase}'
pod writer fresh worker-2
eventually "a volume is made"                  "Bound"     field pvc fresh '{.status.phase}'
eventually "for the node of the pod"           "worker-2"  node_of_claim fresh
eventually "and the pod runs there"            "Running"   field pod writer '{.status.phase}'
pod reader static
eventually "a volume that exists is taken"     "disk-of-3" field pvc static '{.spec.volumeName}'
eventually "by the controller's rules"         "yes"       field pv disk-of-3 '{.metadata.annotations.pv\.kubernetes\.io/bound-by-controller}'
eventually "and the pod runs where it is"      "worker-3"  field pod reader '{.spec.nodeName}'
pod waiting none-left
eventually "no volume, no node"                "4 node(s) didn't find available persistent volumes to bind" \
  field pod waiting '{.status.conditions[0].message}'
disk another-disk
eventually "until there is one"                "worker-3"  field pod waiting '{.spec.nodeName}'

[ "$failures" -eq 0 ] || { echo "$failures checks failed; log of the scheduler:"; tail -50 "$work/scheduler.log"; exit 1; }
