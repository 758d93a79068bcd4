package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// pod is the manifest of a pod with one container. `spec` are members of the spec.
func pod(name, requests string, spec ...string) string {
	return podWith(name, "", requests, "", spec...)
}

func podWith(name, labels, requests, container string, spec ...string) string {
	spec = append(spec, fmt.Sprintf("containers: [{name: c, image: registry.example/c, resources: {requests: {%s}, limits: {%s}}%s}]",
		requests, limitsOf(requests), container), "terminationGracePeriodSeconds: 0")
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, labels: {%s}}
spec: {%s}`, name, labels, strings.Join(spec, ", "))
}

// limitsOf are the requests of extended resources, whose limits must be equal.
func limitsOf(requests string) string {
	if strings.Contains(requests, "example.com/") {
		return requests
	}
	return ""
}

func labelled(pairs ...string) func(*v1.Node) {
	return func(n *v1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			n.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func tainted(key, value string, effect v1.TaintEffect) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func offering(name, amount string) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Status.Allocatable[v1.ResourceName(name)] = resource.MustParse(amount)
		n.Status.Capacity[v1.ResourceName(name)] = resource.MustParse(amount)
	}
}

func cordoned(n *v1.Node) { n.Spec.Unschedulable = true }

// affinity is a required rule of a pod for pods with app=db on the same node.
func affinity(kind string) string {
	return fmt.Sprintf("affinity: {%s: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname}]}}", kind)
}

func using(claim string) string {
	return fmt.Sprintf("volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]", claim)
}

// boundClaim creates a volume and a claim that is bound to it. `volume` are further members of the volume's spec.
func (s *stage) boundClaim(name, mode, labels, volume string) {
	s.create(fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-%s, labels: {%s}}
spec: {capacity: {storage: 1Gi}, accessModes: [%s], claimRef: {namespace: default, name: %s}, %s}`, name, labels, mode, name, volume),
		fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: "", volumeName: pv-%s, accessModes: [%s], resources: {requests: {storage: 1Gi}}}`, name, name, mode))
}

const (
	disk     = "csi: {driver: csi.example.com, volumeHandle: h}"
	gpuClass = `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}`
)

func gpuClaim(name string, count int) string {
	return fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %s, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: %d}}]}}`, name, count)
}

func gpuSlice(node string, devices ...string) string {
	var list []string
	for _, name := range devices {
		list = append(list, fmt.Sprintf("{name: %s}", name))
	}
	return fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: %s}
spec: {driver: gpu.example.com, nodeName: %s, pool: {name: %s, generation: 1, resourceSliceCount: 1}, devices: [%s]}`,
		node, node, node, strings.Join(list, ", "))
}

// situations are pods that stay pending, each for a reason of its own.
func situations() []situation {
	return []situation{
		{"NodeUnschedulable: the node is cordoned", func(s *stage) {
			s.node("alpha", cordoned)
			s.create(pod("web", "cpu: 1"))
		}, "web", "node(s) were unschedulable", "uncordon node alpha (kubectl uncordon alpha)"},

		{"TaintToleration: a dedicated node", func(s *stage) {
			s.node("alpha", tainted("dedicated", "batch", v1.TaintEffectNoSchedule))
			s.create(pod("web", "cpu: 1"))
		}, "web", "taint dedicated=batch:NoSchedule", "add a toleration for dedicated=batch:NoSchedule"},

		{"TaintToleration: the node is not ready", func(s *stage) {
			s.node("alpha", tainted("node.kubernetes.io/not-ready", "", v1.TaintEffectNoSchedule))
			s.create(pod("web", "cpu: 1"))
		}, "web", "taint node.kubernetes.io/not-ready:NoSchedule",
			"repair node alpha, so that its taint node.kubernetes.io/not-ready:NoSchedule is removed"},

		{"NodeAffinity: a misspelled value", func(s *stage) {
			s.node("alpha", labelled("disk", "ssd"))
			s.node("beta", labelled("disk", "hdd"))
			s.create(pod("web", "cpu: 1", "nodeSelector: {disk: sdd}"))
		}, "web", "nearest existing value: ssd", "require disk=ssd instead of disk=sdd"},

		{"NodeAffinity: no node has the label", func(s *stage) {
			s.node("alpha")
			s.create(pod("web", "cpu: 1", "nodeSelector: {rack: r7}"))
		}, "web", "no label rack on 1 node", "label node alpha with rack=r7 (kubectl label node alpha rack=r7)"},

		{"NodeResourcesFit: the request is larger than every node", func(s *stage) {
			s.node("alpha")
			s.create(pod("web", "cpu: 6"))
		}, "web", "requests 6; alpha lacks 2 (4 of 4 free)", "lower the cpu request from 6 to 4"},

		{"NodeResourcesFit: another pod has the memory", func(s *stage) {
			s.node("alpha")
			s.running("alpha", pod("cache", "memory: 6Gi"))
			s.create(pod("web", "memory: 4Gi"))
		}, "web", "Insufficient memory", "wait until default/cache has ended, or delete it"},

		{"NodeResourcesFit: too many pods", func(s *stage) {
			s.node("alpha", offering("pods", "1"))
			s.running("alpha", pod("other", "cpu: 1"))
			s.create(pod("web", "cpu: 1"))
		}, "web", "Too many pods", "wait until default/other has ended, or delete it"},

		{"NodeResourcesFit: the extended resource is used", func(s *stage) {
			s.node("alpha", offering("example.com/gpu", "2"))
			s.running("alpha", pod("train", "example.com/gpu: 2"))
			s.create(pod("web", "example.com/gpu: 1"))
		}, "web", "Insufficient example.com/gpu", "add a node like alpha"},

		{"NodePorts: the host port is taken", func(s *stage) {
			s.node("alpha")
			s.running("alpha", podWith("proxy", "", "cpu: 1", ", ports: [{containerPort: 80, hostPort: 8080}]"))
			s.create(podWith("web", "", "cpu: 1", ", ports: [{containerPort: 80, hostPort: 8080}]"))
		}, "web", "host ports 8080/TCP: taken by default/proxy on alpha",
			"free the host port: wait until default/proxy has ended, or delete it"},

		{"PodTopologySpread: the other zone is full", func(s *stage) {
			s.node("alpha", labelled("topology.kubernetes.io/zone", "a"))
			s.node("beta", labelled("topology.kubernetes.io/zone", "b"), cordoned)
			s.running("alpha", podWith("web-0", "app: web", "cpu: 1", ""))
			s.create(podWith("web", "app: web", "cpu: 1", "",
				"topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"))
		}, "web", "the skew in a would be 2, maxSkew is 1", "raise maxSkew for topology.kubernetes.io/zone from 1 to 2"},

		{"InterPodAffinity: no pod to be near to", func(s *stage) {
			s.node("alpha")
			s.create(pod("web", "cpu: 1", affinity("podAffinity")))
		}, "web", "no pod on a node with label kubernetes.io/hostname matches", "no longer require the pod's affinity to other pods"},

		{"InterPodAffinity: the pod's own anti-affinity", func(s *stage) {
			s.node("alpha")
			s.running("alpha", podWith("db", "app: db", "cpu: 1", ""))
			s.create(pod("web", "cpu: 1", affinity("podAntiAffinity")))
		}, "web", "node(s) didn't match pod anti-affinity rules", "prefer the pod's anti-affinity instead of requiring it"},

		{"InterPodAffinity: the anti-affinity of a running pod", func(s *stage) {
			s.node("alpha")
			s.running("alpha", pod("lonely", "cpu: 1", affinity("podAntiAffinity")))
			s.create(podWith("web", "app: db", "cpu: 1", ""))
		}, "web", "alpha is kept free by default/lonely on alpha", "wait until default/lonely has ended, or delete it"},

		{"VolumeZone: the volume is in another zone", func(s *stage) {
			s.node("alpha", labelled("topology.kubernetes.io/zone", "a"))
			s.boundClaim("data", "ReadWriteOnce", "topology.kubernetes.io/zone: b", disk)
			s.create(pod("web", "cpu: 1", using("data")))
		}, "web", "is bound to volume pv-data in topology.kubernetes.io/zone=b",
			"add a node like alpha with topology.kubernetes.io/zone=b"},

		{"VolumeBinding: the volume is usable on other nodes only", func(s *stage) {
			s.node("alpha", labelled("rack", "r1"))
			s.boundClaim("data", "ReadWriteOnce", "", disk+
				", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: In, values: [r2]}]}]}}")
			s.create(pod("web", "cpu: 1", using("data")))
		}, "web", "usable on nodes with rack In (r2)", "add a node like alpha with rack=r2"},

		{"VolumeBinding: the claim does not exist", func(s *stage) {
			s.node("alpha")
			s.boundClaim("data", "ReadWriteOnce", "", disk)
			s.create(pod("web", "cpu: 1", using("dtaa")))
		}, "web", "claim default/dtaa does not exist; nearest existing claim: data", "use claim data instead of dtaa"},

		{"VolumeRestrictions: a ReadWriteOncePod volume is in use", func(s *stage) {
			s.node("alpha")
			s.boundClaim("data", "ReadWriteOncePod", "", disk)
			s.running("alpha", pod("writer", "cpu: 1", using("data")))
			s.create(pod("web", "cpu: 1", using("data")))
		}, "web", "ReadWriteOncePod", "wait until default/writer has ended, or delete it"},

		{"NodeVolumeLimits: the node has no attachment left", func(s *stage) {
			s.node("alpha")
			s.csiNode("alpha", 1)
			s.boundClaim("data", "ReadWriteOnce", "", disk)
			s.boundClaim("other", "ReadWriteOnce", "", strings.Replace(disk, "volumeHandle: h", "volumeHandle: o", 1))
			s.running("alpha", pod("db", "cpu: 1", using("other")))
			s.create(pod("web", "cpu: 1", using("data")))
		}, "web", "node(s) exceed max volume count", "add a node like alpha"},

		{"DynamicResources: the devices are in use", func(s *stage) {
			s.node("alpha")
			s.create(gpuClass, gpuSlice("alpha", "gpu-0", "gpu-1"), gpuClaim("first", 2), gpuClaim("second", 1))
			s.create(pod("train", "cpu: 1", "resourceClaims: [{name: gpu, resourceClaimName: first}]"))
			_, err := s.NodeOf(s.ctx, patience, "train")
			s.check(err)
			s.create(pod("web", "cpu: 1", "resourceClaims: [{name: gpu, resourceClaimName: second}]"))
		}, "web", "cannot allocate all claims", "add a node like alpha"},

		{"preemption: the pod must not preempt", func(s *stage) {
			s.priorityClass("polite", 1000, "preemptionPolicy: Never")
			s.node("alpha")
			s.running("alpha", pod("batch", "cpu: 3"))
			s.create(pod("web", "cpu: 2", "priorityClassName: polite"))
		}, "web", "Insufficient cpu", "set preemptionPolicy to PreemptLowerPriority"},

		{"preemption: the priority is too low", func(s *stage) {
			s.priorityClass("middle", 500)
			s.node("alpha")
			s.running("alpha", pod("batch", "cpu: 3", "priorityClassName: middle"))
			s.create(pod("web", "cpu: 2"))
		}, "web", "Insufficient cpu", "use a priority class with a value of at least 501 (now 0)"},

		{"SchedulingGates: the pod has a gate", func(s *stage) {
			s.node("alpha")
			s.create(pod("web", "cpu: 1", "schedulingGates: [{name: example.com/quota}]"))
		}, "web", "is gated", "remove the scheduling gate example.com/quota"},

		{"no profile: the scheduler's name is unknown", func(s *stage) {
			s.node("alpha")
			s.create(pod("web", "cpu: 1", "schedulerName: defualt-scheduler"))
		}, "web", "is not scheduled here", "set schedulerName to default-scheduler, unless a scheduler named defualt-scheduler runs"},

		{"extender: the only free node is rejected", func(s *stage) {
			s.node("licensed")
			s.node("unlicensed")
			s.running("licensed", pod("batch", "cpu: 4"))
			s.create(pod("web", "cpu: 2, example.com/license: 1"))
		}, "web", "no license on this node", "wait until default/batch has ended, or delete it"},

		{"LoadAware: the only free node is busy", func(s *stage) {
			s.services.setHeat(map[string]string{"busy": "95", "idle": "10"})
			s.node("busy")
			s.node("idle")
			s.running("idle", pod("batch", "cpu: 3"))
			s.check(controlplane.Pause(s.ctx, measured))
			s.create(pod("web", "cpu: 2", "schedulerName: load-aware"))
		}, "web", "node(s) had too much heat load (measured)", "lower the cpu request from 2 to 1"},

		{"Gangs: a member of the group is missing", func(s *stage) {
			s.node("alpha")
			s.create(member("web"))
		}, "web", "waiting for members of group/ring: 1 of 2 exist", "create 1 more pod of group/ring"},

		{"several: a taint and a misspelled label", func(s *stage) {
			s.node("alpha", labelled("disk", "ssd"), tainted("dedicated", "batch", v1.TaintEffectNoSchedule))
			s.create(pod("web", "cpu: 1", "nodeSelector: {disk: sdd}"))
		}, "web", "nearest existing value: ssd",
			"add a toleration for dedicated=batch:NoSchedule; and require disk=ssd instead of disk=sdd"},

		{"several: too little CPU, and a taint", func(s *stage) {
			s.node("alpha", tainted("dedicated", "batch", v1.TaintEffectNoSchedule))
			s.create(pod("web", "cpu: 6"))
		}, "web", "Insufficient cpu",
			"add a toleration for dedicated=batch:NoSchedule; and lower the cpu request from 6 to 4"},
	}
}

const groupAnnotation = "scheduling.berth.dev/group"

// member is a pod of a group of two.
func member(name string) string {
	return strings.Replace(pod(name, "cpu: 1"), "labels: {}",
		fmt.Sprintf(`annotations: {%s: ring, scheduling.berth.dev/min-members: "2"}`, groupAnnotation), 1)
}

func (s *stage) priorityClass(name string, value int, more ...string) {
	s.create(fmt.Sprintf("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: %s}\nvalue: %d\n%s",
		name, value, strings.Join(more, "\n")))
	s.check(s.AwaitPriorityClass(s.ctx, name))
}

// csiNode limits the volumes of the driver on a node.
func (s *stage) csiNode(name string, volumes int32) {
	_, err := s.Client.StorageV1().CSINodes().Create(s.ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &volumes}}}},
	}, metav1.CreateOptions{})
	s.check(err)
}
