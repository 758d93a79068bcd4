package main

// want is an expected finding: its level and a part of its text.
type want struct{ level, what string }

// scenario is one run of the check; objects of earlier scenarios stay in the cluster.
type scenario struct {
	name      string
	manifests []string          // applied before
	as        string            // the user; default: the administrator
	args      []string          // of berth migrate check
	files     map[string]string // flags with a file, and its content
	code      int
	wants     []want // all warnings and blockers, and other relevant findings
}

const (
	shippedRoles = "the shipped roles"
	extenderHere = "@extender@"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

const plain = `
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default}
spec: {containers: [{name: c, image: registry.example/pause}]}
---
apiVersion: v1
kind: Pod
metadata: {name: runs, namespace: default}
spec: {nodeName: n1, containers: [{name: c, image: registry.example/pause}]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: csi}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: disks.example.com, volumeHandle: h}}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler-n1, namespace: kube-system, labels: {component: kube-scheduler}}
spec:
  nodeName: n1
  containers:
  - {name: kube-scheduler, image: registry.example/kube-scheduler:v1.37.1, command: [kube-scheduler, --leader-elect=true]}
`

const special = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpus}
spec: {extendedResourceName: example.com/gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpus}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claims, namespace: default}
spec:
  containers: [{name: c, image: registry.example/pause}]
  resourceClaims: [{name: gpu, resourceClaimName: claim}]
---
apiVersion: v1
kind: Pod
metadata: {name: requests, namespace: default}
spec: {containers: [{name: c, image: registry.example/pause, resources: {limits: {example.com/gpu: 1}}}]}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: group, namespace: default}
spec: {schedulingPolicy: {basic: {}}}
---
apiVersion: v1
kind: Pod
metadata: {name: member, namespace: default}
spec:
  containers: [{name: c, image: registry.example/pause}]
  schedulingGroup: {podGroupName: group}
---
apiVersion: v1
kind: Pod
metadata: {name: gang, namespace: default, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {containers: [{name: c, image: registry.example/pause}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: default}
spec: {schedulerName: volcano, containers: [{name: c, image: registry.example/pause}]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: old}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], gcePersistentDisk: {pdName: d}}
`

const unusedDevices = `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpus.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: unused, namespace: default}
spec: {schedulingPolicy: {basic: {}}}
`

// A scheduler with its configuration in a ConfigMap and an unknown plugin.
const otherScheduler = `
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler, namespace: kube-system}
data:
  scheduler.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: default-scheduler
      plugins: {multiPoint: {enabled: [{name: NetworkOverhead}, {name: NodeResourceFit}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler-a, namespace: kube-system, labels: {component: kube-scheduler}}
spec:
  nodeName: n1
  containers:
  - name: kube-scheduler
    image: registry.example/kube-scheduler:v1.37.1
    command: [kube-scheduler, --config=/etc/scheduler/scheduler.yaml]
    volumeMounts: [{name: config, mountPath: /etc/scheduler}]
  volumes: [{name: config, configMap: {name: scheduler}}]
`

const oldManifest = `
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
  - name: kube-scheduler
    image: registry.example/kube-scheduler:v1.22.0
    command: [kube-scheduler, --port=0, --feature-gates=GenericWorkload=true, --kubeconfig=/etc/kubernetes/scheduler.conf]
`

var scenarios = []scenario{
	{
		name: "nothing special", manifests: []string{plain}, code: 0,
		wants: []want{
			{"ok", "Kubernetes v1.37.1"},
			{"ok", "registry.example/kube-scheduler:v1.37.1 --leader-elect=true, by pod kube-system/kube-scheduler-n1"},
			{"note", "percentageOfNodesToScore is not set"},
			{"note", "clientConnection.qps and burst are not set"},
			{"ok", "3 pods (1 pending) would be scheduled by Berth"},
			{"ok", "1 disks.example.com"},
			{"ok", "system:kube-scheduler has all permissions"},
			{"ok", "2 nodes, 2 pods on them, 1 pending"},
		},
	},
	{
		name: "by the scheduler itself", as: "itself", code: 0,
		wants: []want{{"ok", "3 pods (1 pending) would be scheduled by Berth"}, {"ok", "system:kube-scheduler has all permissions"}},
	},
	{
		name: "by a reader", as: "reader", code: 0,
		wants: []want{
			{"ok", "3 pods (1 pending) would be scheduled by Berth"},
			{"warning", `permissions of system:kube-scheduler were not checked: subjectaccessreviews.authorization.k8s.io is forbidden`},
		},
	},
	{
		name: "by a reader about itself", as: "reader", args: []string{"--as-user=system:serviceaccount:default:reader"}, code: 2,
		wants: []want{
			{"blocker", "may not create pods/binding: no pod is bound"},
			{"blocker", "may not delete pods: nothing is preempted"},
			{"blocker", "may not patch pods/status"},
			{"blocker", "may not patch persistentvolumes, patch persistentvolumeclaims"},
			{"blocker", "nothing is scheduled"},
			{"blocker", "update leases.coordination.k8s.io kube-system/kube-scheduler: it never leads"},
			{"blocker", "may not create leases.coordination.k8s.io in kube-system"},
			{"blocker", "nothing is scheduled, unless --berth-allow-missing-resources is set"},
			{"warning", "statefulsets.apps: the default spreading"},
			{"warning", "capacity and limits of volumes"},
			{"warning", "pods with extended resources of device classes are not bound"},
			{"warning", "devices are unknown"},
			{"warning", "pods with resource claims are not bound"},
			{"warning", "pods get no events"},
			{"warning", "create tokenreviews.authentication.k8s.io"},
			{"warning", "create subjectaccessreviews.authorization.k8s.io"},
			{"warning", "watch configmaps kube-system/extension-apiserver-authentication"},
		},
	},
	{
		name: "by a user without permissions", as: "no-permissions", args: []string{"--no-reviews"}, code: 1,
		wants: []want{
			{"warning", "the running scheduler's pod cannot be read"},
			{"warning", "not checked: nodes: nodes is forbidden"},
			{"warning", "not checked: pods: pods is forbidden"},
			{"warning", "not checked: persistent volumes"},
			{"warning", "not checked: device classes"},
			{"warning", "not checked: pod groups"},
			{"warning", "permissions of system:kube-scheduler were not checked: --no-reviews"},
		},
	},
	{
		name: "beside, before the roles are there", args: []string{"--beside"},
		files: map[string]string{"--config": head + "leaderElection: {resourceName: berth}\nprofiles: [{schedulerName: berth}]\n"}, code: 2,
		wants: []want{
			{"note", "no pod has the schedulerName berth"},
			{"blocker", "system:serviceaccount:kube-system:berth has none of the permissions that Berth needs"},
		},
	},
	{
		name: "beside, with the roles", manifests: []string{shippedRoles}, args: []string{"--beside"},
		files: map[string]string{"--config": head + "leaderElection: {resourceName: berth}\nprofiles: [{schedulerName: berth}]\n"}, code: 0,
		wants: []want{{"ok", "system:serviceaccount:kube-system:berth has all permissions"}},
	},
	{
		name: "beside, with the same names", args: []string{"--beside", "--as-user=system:kube-scheduler"}, code: 2,
		wants: []want{
			{"blocker", "both schedulers would have a profile default-scheduler"},
			{"blocker", "both schedulers would use the lease kube-system/kube-scheduler"},
		},
	},
	{
		name: "unused devices and groups", manifests: []string{unusedDevices}, code: 0,
		wants: []want{{"note", "1 pod group without pods"}},
	},
	{
		name: "a feature of each kind", manifests: []string{special}, as: "reader", args: []string{"--no-reviews"}, code: 0,
		wants: []want{
			{"ok", "1 pod (1 pending) with resource claims (DRA)"},
			{"ok", "1 pod (1 pending) that request a resource which a DeviceClass provides"},
			{"note", "1 pod (1 pending) of pod groups; the feature gate GenericWorkload is off"},
			{"warning", "1 pod (1 pending) with the label of Coscheduling's pod groups"},
			{"note", `1 pod (1 pending) with the schedulerName "volcano"`},
			{"note", "1 volume of kubernetes.io/gce-pd"},
			{"warning", "were not checked"},
		},
	},
	{
		name: "of another scheduler only", args: []string{"--scheduler-name=volcano"}, code: 0,
		wants: []want{
			{"ok", "1 pod (1 pending) would be scheduled by Berth, by schedulerName volcano"},
			{"note", `with the schedulerName "default-scheduler"`},
		},
	},
	{
		name: "a manifest of old, and the gate of pod groups", files: map[string]string{"--manifest": oldManifest}, code: 0,
		wants: []want{
			{"ok", "registry.example/kube-scheduler:v1.22.0"},
			{"note", "the running scheduler is v1.22.0; Berth follows v1.37.1"},
			{"note", "--port: flag of an older release"},
			{"ok", "1 pod (1 pending) of pod groups; Berth schedules groups as kube-scheduler does"},
			{"ok", "with resource claims"},
			{"ok", "a DeviceClass provides"},
			{"warning", "Coscheduling's pod groups"},
		},
	},
	{
		name: "a configuration in a ConfigMap with an unknown plugin", manifests: []string{otherScheduler}, args: []string{"--no-reviews", "--scheduler-name=mine"}, code: 2,
		wants: []want{
			{"warning", "the 2 kube-scheduler pods have different command lines"},
			{"blocker", "Berth has no plugin NetworkOverhead (of kubernetes-sigs/scheduler-plugins)"},
			{"blocker", "Berth has no plugin NodeResourceFit; did you mean NodeResourcesFit?"},
			{"warning", "were not checked"},
		},
	},
	{
		name: "extenders, one of which is there", args: []string{"--no-reviews", "--scheduler-name=mine"},
		files: map[string]string{"--config": head + `extenders:
- {urlPrefix: "http://127.0.0.1:1/scheduler", filterVerb: filter, prioritizeVerb: prioritize, weight: 1}
- {urlPrefix: "@extender@/scheduler", filterVerb: filter, bindVerb: bind}
`}, code: 0,
		wants: []want{
			{"warning", "the 2 kube-scheduler pods have different command lines"},
			{"warning", "http://127.0.0.1:1/scheduler (filter, prioritize) is not reachable from here"},
			{"ok", "/scheduler (filter, bind) is reachable"},
			{"warning", "were not checked"},
		},
	},
	{
		name: "a file that does not load", args: []string{"--no-reviews", "--scheduler-name=mine"},
		files: map[string]string{"--config": head + "paralelism: 4\n"}, code: 2,
		wants: []want{
			{"warning", "the 2 kube-scheduler pods have different command lines"},
			{"blocker", `unknown field "paralelism"; did you mean "parallelism"?`},
			{"warning", "were not checked"},
		},
	},
}
