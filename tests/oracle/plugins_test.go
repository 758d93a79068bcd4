package main

import (
	"fmt"
	"strings"
	"testing"
)

// evaluateOnly evaluates a handwritten cluster with a few plugins, each with its default weight.
func evaluateOnly(t *testing.T, names []string, cluster string) []string {
	t.Helper()
	config := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n" +
		"- plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}"
	for _, plugin := range plugins {
		for _, name := range names {
			if plugin.name == name {
				config += fmt.Sprintf(", {name: %s, weight: %d}", name, plugin.weight)
			}
		}
	}
	lines, err := (&Scenario{Cluster: []byte(cluster), Config: []byte(config + "]}}\n")}).evaluate(silence())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// nodesIn creates nodes n1, n2, ... in the given zones, with a hostname; "-" is no zone.
func nodesIn(zones ...string) (text string) {
	for i, zone := range zones {
		labels := fmt.Sprintf("kubernetes.io/hostname: n%d", i+1)
		if zone != "-" {
			labels += ", topology.kubernetes.io/zone: " + zone
		}
		text += fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {%s}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}\n---\n", i+1, labels)
	}
	return text
}

// running creates web pods on the given nodes.
func running(nodes ...string) (text string) {
	for i, node := range nodes {
		text += fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: r%d, labels: {app: web}}, spec: {nodeName: %s, containers: [{name: c, image: x}]}}\n---\n", i, node)
	}
	return text
}

// waitingPod creates a pending web pod with additional fields.
func waitingPod(spec string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {containers: [{name: c, image: x}], " + spec + "}}"
}

func scheduled(node, best, nodes string) string {
	return `{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"` + node + `","bestNodes":[` + best + `],"nodes":[` + nodes + `]}`
}

func unschedulable(message, nodes string) string {
	return `{"pod":"default/p","schedulerName":"default-scheduler","result":"unschedulable","message":"` + message + `","nodes":[` + nodes + `]}`
}

func passes(node string) string { return `{"name":"` + node + `","code":"Success"}` }

func scores(node, plugin string, score int) string {
	return fmt.Sprintf(`{"name":"%s","code":"Success","scores":{"%s":%d},"total":%d}`, node, plugin, score, score)
}

func refuses(node, code, plugin, reason string) string {
	return `{"name":"` + node + `","code":"` + code + `","plugin":"` + plugin + `","reasons":["` + reason + `"]}`
}

const (
	never = "UnschedulableAndUnresolvable"
	full  = "Unschedulable"
	web   = "labelSelector: {matchLabels: {app: web}}"
)

// The expected records are derived from the rules by hand, not copied from the output.
func TestSpreadingAndAffinity(t *testing.T) {
	const (
		spread      = "node(s) didn't match pod topology spread constraints"
		affinity    = "node(s) didn't match pod affinity rules"
		anti        = "node(s) didn't match pod anti-affinity rules"
		symmetrical = "node(s) didn't satisfy existing pods anti-affinity rules"
	)
	tests := []struct{ name, plugin, cluster, want string }{
		{
			// Zones hold 2 and 0; one more in a would make a skew of 3.
			"a hard constraint by zone", "PodTopologySpread",
			nodesIn("a", "a", "b", "-") + running("n1", "n2") +
				waitingPod("topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			scheduled("n3", `"n3"`, strings.Join([]string{refuses("n1", full, "PodTopologySpread", spread), refuses("n2", full, "PodTopologySpread", spread),
				passes("n3"), refuses("n4", never, "PodTopologySpread", spread+" (missing required label)")}, ",")),
		},
		{
			// Two domains where four are required: the minimum counts as 0, and 1 + 1 - 0 exceeds 1.
			"too few domains", "PodTopologySpread",
			nodesIn("a", "b") + running("n1", "n2") +
				waitingPod("topologySpreadConstraints: [{maxSkew: 1, minDomains: 4, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			unschedulable("0/2 nodes are available: 2 "+spread+".", refuses("n1", full, "PodTopologySpread", spread)+","+refuses("n2", full, "PodTopologySpread", spread)),
		},
		{
			// ln(4 + 2) = 1.79 a pod: 4, 2, 0, 2, so 100 * (4 + 0 - s) / 4, twice.
			"a soft constraint by hostname", "PodTopologySpread",
			nodesIn("a", "a", "a", "a") + running("n1", "n1", "n2", "n4") +
				waitingPod("topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, "+web+"}]"),
			scheduled("n3", `"n3"`, strings.Join([]string{scores("n1", "PodTopologySpread", 0), scores("n2", "PodTopologySpread", 100),
				scores("n3", "PodTopologySpread", 200), scores("n4", "PodTopologySpread", 100)}, ",")),
		},
		{
			"affinity to a zone with a web pod", "InterPodAffinity",
			nodesIn("a", "b", "a", "-") + running("n1") +
				waitingPod("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, "+web+"}]}}"),
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1","n3"],"nodes":[` +
				strings.Join([]string{`{"name":"n1","code":"Success","scores":{},"total":0}`, refuses("n2", never, "InterPodAffinity", affinity),
					`{"name":"n3","code":"Success","scores":{},"total":0}`, refuses("n4", never, "InterPodAffinity", affinity)}, ",") + `]}`,
		},
		{
			"the first of its kind may have affinity to itself", "InterPodAffinity",
			nodesIn("a", "-") +
				waitingPod("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, "+web+"}]}}"),
			scheduled("n1", `"n1"`, passes("n1")+","+refuses("n2", never, "InterPodAffinity", affinity)),
		},
		{
			// The placed pod has anti-affinity to pods like the pending one on its host; the pending pod has anti-affinity
			// to web pods in its zone.
			"anti-affinity holds both ways", "InterPodAffinity",
			nodesIn("a", "b", "c") +
				"{apiVersion: v1, kind: Pod, metadata: {name: placed, labels: {app: db}}, spec: {nodeName: n1, containers: [{name: c, image: x}], affinity: {podAntiAffinity: " +
				"{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, " + web + "}]}}}}\n---\n" + running("n2") +
				waitingPod("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, "+web+"}]}}"),
			scheduled("n3", `"n3"`, strings.Join([]string{refuses("n1", full, "InterPodAffinity", symmetrical), refuses("n2", full, "InterPodAffinity", anti), passes("n3")}, ",")),
		},
		{
			// Zone a has two, b one, c none: 100, 50, 0 of the weight, doubled.
			"preferred affinity by zone", "InterPodAffinity",
			nodesIn("a", "b", "c") + running("n1", "n1", "n2") +
				waitingPod("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, "+web+"}}]}}"),
			scheduled("n1", `"n1"`, strings.Join([]string{scores("n1", "InterPodAffinity", 200), scores("n2", "InterPodAffinity", 100), scores("n3", "InterPodAffinity", 0)}, ",")),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectRecords(t, evaluateOnly(t, []string{test.plugin}, test.cluster), test.want)
		})
	}
}

func TestVolumes(t *testing.T) {
	claim := func(name, more string) string {
		return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}}, spec: {" + more +
			"accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}\n---\n"
	}
	volume := func(name, labels, more string) string {
		return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + name + ", labels: {" + labels + "}}, spec: {" + more + ", capacity: {storage: 20Gi}, accessModes: [ReadWriteOnce]}, status: {phase: Available}}\n---\n"
	}
	uses := func(claims ...string) string {
		var volumes []string
		for i, name := range claims {
			volumes = append(volumes, fmt.Sprintf("{name: v%d, persistentVolumeClaim: {claimName: %s}}", i, name))
		}
		return "volumes: [" + strings.Join(volumes, ", ") + "]"
	}
	const csi = "csi: {driver: d, volumeHandle: "
	const local = "local: {path: /x}, storageClassName: local, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}]}}"
	const lazy = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n---\n"
	tests := []struct{ name, plugin, cluster, want string }{
		{
			"a disk that another pod writes to", "VolumeRestrictions",
			nodesIn("a", "b") + "{apiVersion: v1, kind: Pod, metadata: {name: r, namespace: other}, spec: {nodeName: n1, containers: [{name: c, image: x}], volumes: [{name: v, gcePersistentDisk: {pdName: d, readOnly: true}}]}}\n---\n" +
				waitingPod("volumes: [{name: v, gcePersistentDisk: {pdName: d}}]"),
			scheduled("n2", `"n2"`, refuses("n1", full, "VolumeRestrictions", "node(s) had no available disk")+","+passes("n2")),
		},
		{
			"a claim with ReadWriteOncePod", "VolumeRestrictions",
			nodesIn("a") + strings.Replace(claim("c", ""), "ReadWriteOnce", "ReadWriteOncePod", 1) +
				"{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {nodeName: n1, containers: [{name: c, image: x}], " + uses("c") + "}}\n---\n" + waitingPod(uses("c")),
			unschedulable("0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.",
				refuses("n1", full, "VolumeRestrictions", "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod")),
		},
		{
			// n1 has room for three: it has a and b, and with c and d it would have four. n2 has no limit.
			"a node that takes three volumes", "NodeVolumeLimits",
			nodesIn("a", "b") + "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: d, nodeID: n1, topologyKeys: [], allocatable: {count: 3}}]}}\n---\n" +
				claim("ca", "volumeName: a, ") + claim("cb", "volumeName: b, ") + claim("cc", "volumeName: c, ") + claim("cd", "volumeName: d, ") +
				volume("a", "", csi+"a}") + volume("b", "", csi+"b}") + volume("c", "", csi+"c}") + volume("d", "", csi+"d}") +
				"{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {nodeName: n1, containers: [{name: c, image: x}], " + uses("ca", "cb") + "}}\n---\n" + waitingPod(uses("cb", "cc", "cd")),
			scheduled("n2", `"n2"`, refuses("n1", full, "NodeVolumeLimits", "node(s) exceed max volume count")+","+passes("n2")),
		},
		{
			"a volume that is on another node", "VolumeBinding",
			nodesIn("a", "b") + claim("c", "volumeName: v, storageClassName: local, ") + volume("v", "", local) + waitingPod(uses("c")),
			scheduled("n2", `"n2"`, refuses("n1", never, "VolumeBinding", "node(s) didn't match PersistentVolume's node affinity")+","+passes("n2")),
		},
		{
			"a volume to be chosen along with the node", "VolumeBinding",
			nodesIn("a", "b") + lazy + strings.Replace(claim("c", "storageClassName: local, "), "bind-completed", "other", 1) + volume("v", "", local) + waitingPod(uses("c")),
			scheduled("n2", `"n2"`, refuses("n1", never, "VolumeBinding", "node(s) didn't find available persistent volumes to bind")+","+passes("n2")),
		},
		{
			// 10Gi of 20Gi on n2 is half used: half of the default shape. n1 has a volume four times as large as the claim.
			"the fuller volume scores less", "VolumeBinding",
			nodesIn("a", "b") + lazy + strings.Replace(claim("c", "storageClassName: local, "), "bind-completed", "other", 1) + volume("v", "", local) +
				strings.Replace(strings.Replace(volume("w", "", local), "[n2]", "[n1]", 1), "20Gi", "40Gi", 1) + waitingPod(uses("c")),
			scheduled("n1", `"n1"`, scores("n1", "VolumeBinding", 75)+","+scores("n2", "VolumeBinding", 50)),
		},
		{
			"a volume in other zones", "VolumeZone",
			nodesIn("a", "b", "c", "-") + claim("c", "volumeName: v, ") + volume("v", "topology.kubernetes.io/zone: a__b", csi+"v}") + waitingPod(uses("c")),
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1","n2","n4"],"nodes":[` +
				strings.Join([]string{`{"name":"n1","code":"Success","scores":{},"total":1}`, `{"name":"n2","code":"Success","scores":{},"total":1}`,
					refuses("n3", never, "VolumeZone", "node(s) had no available volume zone"), `{"name":"n4","code":"Success","scores":{},"total":1}`}, ",") + `]}`,
		},
		{
			"a feature the node must declare", "NodeDeclaredFeatures",
			nodesIn("a") + "{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {declaredFeatures: [UserNamespacesHostNetworkSupport], allocatable: {pods: 10}}}\n---\n" +
				waitingPod("hostNetwork: true, hostUsers: false"),
			scheduled("n2", `"n2"`, refuses("n1", never, "NodeDeclaredFeatures", "node(s) didn't match Pod's required features")+","+passes("n2")),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectRecords(t, evaluateOnly(t, []string{test.plugin}, test.cluster), test.want)
		})
	}
}
