#!/bin/sh
# Runs the real kubectl against `berth sandbox`: common commands must work and print their usual output.
#   tests/sandbox/kubectl_test.sh <berth>
set -eu
berth=${1:?usage: kubectl_test.sh <path of the program berth>}
if ! command -v kubectl >/dev/null 2>&1; then
  echo "skipped: there is no kubectl here"
  exit 77
fi

work=$(mktemp -d)
"$berth" sandbox --nodes 3 --gpu-nodes 1 --gpu-claims --port 0 --pod-start 0 --pod-stop 0 --kubeconfig "$work/kubeconfig" >"$work/log" 2>&1 &
sandbox=$!
trap 'kill $sandbox 2>/dev/null || true; wait $sandbox 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM
for _ in $(seq 150); do
  [ -f "$work/kubeconfig" ] && break
  sleep 0.2
done
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
apply() { kubectl apply -f - ; }
bind() {
  kubectl create --raw "/api/v1/namespaces/default/pods/$1/binding" -f - <<JSON
{"apiVersion":"v1","kind":"Binding","metadata":{"name":"$1"},"target":{"kind":"Node","name":"$2"}}
JSON
}
web() {
  apply <<YAML
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - {name: main, image: "$1", resources: {requests: {cpu: 500m, memory: 1Gi}}}
YAML
}
unknown_field() {
  apply <<YAML
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {nodeNmae: n1, containers: [{name: main, image: nginx}]}
YAML
}

check "version"                       "Server Version: v1.37.1"  kubectl version
check "cluster-info"                  "is running at http://127" kubectl cluster-info
check "api-resources"                 "poddisruptionbudgets"     kubectl api-resources
check "get nodes"                     "Ready"                    kubectl get nodes
check "get nodes, wide"               "INTERNAL-IP"              kubectl get nodes -o wide
check "no pods yet"                   "No resources found"       kubectl get pods

check "apply creates"                 "pod/web created"          web nginx
check "apply again changes nothing"   "pod/web unchanged"        web nginx
check "apply changes the image"       "pod/web configured"       web nginx:2
check "get pod"                       "Pending"                  kubectl get pod web
check "get pod, wide"                 "NOMINATED NODE"           kubectl get pod web -o wide
check "get pod, yaml"                 "schedulerName: default-scheduler" kubectl get pod web -o yaml
check "get pod by label"              "web"                      kubectl get pods -l app=web,tier!=back
check "get pod by field"              "web"                      kubectl get pods --field-selector spec.nodeName=
check "label"                         "pod/web labeled"          kubectl label pod web tier=front
check "annotate"                      "pod/web annotated"        kubectl annotate pod web note=hello
check "patch, strategic"              "pod/web patched"          kubectl patch pod web -p '{"metadata":{"labels":{"x":"y"}}}'
check "patch, merge"                  "pod/web patched"          kubectl patch pod web --type merge -p '{"metadata":{"labels":{"x":null}}}'
check "patch, json"                   "pod/web patched"          kubectl patch pod web --type json -p '[{"op":"add","path":"/metadata/labels/z","value":"1"}]'
check "typing errors are found"       'unknown field "spec.nodeNmae"' unknown_field
check "server side apply"             "serverside-applied"       kubectl apply --server-side --force-conflicts -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: ssa}
data: {a: b}
YAML
two() {
  kubectl apply --server-side --field-manager "$1" -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: ssa}
data: {a: "$2"}
YAML
}
check "another manager conflicts"     'conflict with "kubectl": .data.a' two other c
check "the owner does not"            "serverside-applied"       two kubectl d
check "owners are shown"              "f:data"                   kubectl get configmap ssa -o yaml --show-managed-fields
check "diff"                          "+  a: changed"            sh -c 'kubectl get configmap ssa -o yaml | sed "s/a: d/a: changed/" | kubectl diff -f -'
check "explain"                       "containers"               kubectl explain pod.spec
check "explain a list"                "containerPort"            kubectl explain pod.spec.containers.ports
check "explain, recursively"          "matchLabels"              kubectl explain deployment.spec --recursive
check "api-versions"                  "metrics.k8s.io/v1beta1"   kubectl api-versions
check "a warning about unknown fields" 'unknown field "foo"'     kubectl create --validate=warn --dry-run=server -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: warned}
foo: bar
YAML
check "dry run on the server"         "created (server dry run)" kubectl create configmap dry --from-literal a=b --dry-run=server
check "and nothing was stored"        "NotFound"                 kubectl get configmap dry

check "bind"                          "Success"                  bind web node-0002
check "wait until it runs"            "condition met"            kubectl wait --for=condition=Ready pod/web --timeout=10s
check "bound twice is a conflict"     "already assigned to node" bind web node-0003
check "describe pod"                  "Node:             node-0002" kubectl describe pod web
check "describe node"                 "cpu                500m"  kubectl describe node node-0002
check "logs"                          "simulated"                kubectl logs web
check "exec reports that it is unsupported" "simulated"            kubectl exec web -- true
check "get, custom columns"           "node-0002"                kubectl get pods -o custom-columns=NODE:.spec.nodeName
check "get, jsonpath"                 "node-0002"                kubectl get pod web -o 'jsonpath={.spec.nodeName}'
check "get, name"                     "pod/web"                  kubectl get pods -o name
check "get, sorted"                   "web"                      kubectl get pods --sort-by .metadata.creationTimestamp
check "get, all namespaces"           "NAMESPACE"                kubectl get pods -A
check "get, labels"                   "app=web"                  kubectl get pods --show-labels
check "get, in pages"                 "node-0003"                kubectl get nodes --chunk-size 2
check "top nodes"                     "node-0002"                kubectl top nodes
check "top pods"                      "500m"                     kubectl top pods
check "watch"                         "web"                      timeout 2 kubectl get pods -w

claim() {
  kubectl apply "$@" -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}
YAML
}
broken_class() {
  kubectl apply -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: broken}
spec: {selectors: [{cel: {expression: device.drivr}}]}
YAML
}
check "api-resources of devices"      "resourceclaimtemplates"   kubectl api-resources --api-group resource.k8s.io
check "explain a claim"               "firstAvailable"           kubectl explain resourceclaim.spec.devices.requests
check "explain a slice, recursively"  "consumesCounters"         kubectl explain resourceslice.spec --recursive
check "get device classes"            "gpu.example.com"          kubectl get deviceclasses
check "get resource slices"           "gpu-0001"                 kubectl get resourceslices
check "the devices of a slice"        "gpu-7"                    kubectl get resourceslices -o yaml
check "apply a claim"                 "resourceclaim.resource.k8s.io/gpu created" claim
# Its spec is immutable; the list of requests is atomic, so kubectl sends it without the defaults.
check "apply a claim again"           "resourceclaim.resource.k8s.io/gpu configured" claim
check "server side apply of a claim"  "serverside-applied"       claim --server-side --force-conflicts
check "get claims"                    "pending"                  kubectl get resourceclaims
check "describe a claim"              "gpu.example.com"          kubectl describe resourceclaim gpu
check "expressions are compiled"      "undefined field 'drivr'"  broken_class
check "delete a claim"                'deleted'                  kubectl delete resourceclaim gpu

check "create namespace"              "namespace/shop created"   kubectl create namespace shop
check "create deployment"             "deployment.apps/d created" kubectl create deployment d --image nginx --replicas 2 -n shop
check "scale"                         "deployment.apps/d scaled" kubectl scale deployment d --replicas 3 -n shop
check "get deployment"                "0/3"                      kubectl get deployment d -n shop
check "create configmap"              "configmap/c created"      kubectl create configmap c --from-literal a=b
check "create secret"                 "secret/s created"         kubectl create secret generic s --from-literal a=b
check "create priorityclass"          "created"                  kubectl create priorityclass high --value 1000
check "create service account"        "serviceaccount/sa created" kubectl create serviceaccount sa
check "create service"                "service/svc created"      kubectl create service clusterip svc --tcp=80:80
check "create quota"                  "resourcequota/q created"  kubectl create quota q --hard=cpu=1
check "create pdb"                    "poddisruptionbudget.policy/p created" kubectl create pdb p --selector app=none --min-available 1
check "create job"                    "job.batch/j created"      kubectl create job j --image busybox -n shop
check "run"                           "pod/r created"            kubectl run r --image nginx -n shop
check "auth can-i"                    "yes"                      kubectl auth can-i create pods
check "auth can-i --list"             '[*]'                      kubectl auth can-i --list
check "auth can-i as another user"    "yes"                      kubectl auth can-i list pods --as alice
check "create role"                   "role.rbac.authorization.k8s.io/reader created" kubectl create role reader --verb get --resource pods
check "create role binding"           "created"                  kubectl create rolebinding readers --role reader --user alice
check "get role bindings"             "Role/reader"              kubectl get rolebindings
check "expose"                        "service/d exposed"        kubectl expose deployment d --port 80 -n shop
check "create cron job"               "cronjob.batch/cj created" kubectl create cronjob cj --image busybox --schedule "* * * * *" -n shop
check "rollout restart"               "restarted"                kubectl rollout restart deployment d -n shop
check "set image"                     "image updated"            kubectl set image deployment/d nginx=nginx:2 -n shop
check "describe deployment"           "nginx:2"                  kubectl describe deployment d -n shop
check "auth whoami"                   "sandbox"                  kubectl auth whoami
check "get all"                       "deployment.apps/d"        kubectl get all -n shop
check "replace"                       "configmap/c replaced"     sh -c 'kubectl get configmap c -o yaml | sed "s/a: b/a: c/" | kubectl replace -f -'
check "edit without changes"          "Edit cancelled"           env EDITOR=true kubectl edit configmap c

check "cordon"                        "node/node-0001 cordoned"  kubectl cordon node-0001
check "a cordoned node shows it"      "SchedulingDisabled"       kubectl get node node-0001
check "and is tainted"                "condition met"            kubectl wait node/node-0001 --timeout=10s \
  --for=jsonpath='{.spec.taints[?(@.key=="node.kubernetes.io/unschedulable")].effect}'=NoSchedule
check "uncordon"                      "node/node-0001 uncordoned" kubectl uncordon node-0001
check "taint"                         "node/node-0001 tainted"   kubectl taint node node-0001 a=b:NoSchedule
check "drain"                         "node/node-0002 drained"   kubectl drain node-0002 --force --timeout=20s
check "the drained pod is deleted"    "NotFound"                 kubectl get pod web

check "create an event"               "event/e created"          kubectl create -f - <<YAML
apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {kind: Pod, name: web, namespace: default}
reason: Tested
message: all is well
type: Normal
YAML
check "get events"                    "all is well"              kubectl get events
check "events"                        "all is well"              kubectl events
check "events of the other group"     "note: all is well"        kubectl get events.events.k8s.io e -o yaml

check "delete by label"               'deleted'                  kubectl delete deployment -n shop -l app=d
check "delete namespace"              'namespace "shop" deleted' kubectl delete namespace shop
check "the namespace is deleted"      "NotFound"                 kubectl get namespace shop
check "errors read as usual"          'Error from server (NotFound): pods "nope" not found' kubectl get pod nope
check "still alive"                   "ok"                       kubectl get --raw /healthz

[ "$failures" -eq 0 ] || { echo "$failures checks failed; log of the sandbox:"; cat "$work/log"; exit 1; }
