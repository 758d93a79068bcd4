package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// evaluateText evaluates a handwritten cluster with the default configuration.
func evaluateText(t *testing.T, cluster string) []string {
	t.Helper()
	config, err := os.ReadFile("eleven-plugins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := Scenario{Cluster: []byte(cluster), Config: config}
	lines, err := s.evaluate(silence())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// expectRecords compares with the lines of want.
func expectRecords(t *testing.T, got []string, wanted string) {
	t.Helper()
	want := strings.Split(wanted, "\n")
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d: %s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("record %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// The expected records are derived from the rules by hand, not copied from the output.
func TestRecords(t *testing.T) {
	const twoNodes = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 10}}
---
`
	tests := []struct{ name, cluster, want string }{
		{
			"equal nodes share the first place",
			twoNodes + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 1, memory: 2Gi}}}]}}`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1","n2"],"nodes":[` +
				`{"name":"n1","code":"Success","scores":{"ImageLocality":0,"NodeResourcesBalancedAllocation":75,"NodeResourcesFit":75,"TaintToleration":300},"total":450},` +
				`{"name":"n2","code":"Success","scores":{"ImageLocality":0,"NodeResourcesBalancedAllocation":75,"NodeResourcesFit":75,"TaintToleration":300},"total":450}]}`,
		},
		{
			"without requests nothing is left to balance",
			twoNodes + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}]}}`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1","n2"],"nodes":[` +
				`{"name":"n1","code":"Success","scores":{"ImageLocality":0,"NodeResourcesFit":97,"TaintToleration":300},"total":397},` +
				`{"name":"n2","code":"Success","scores":{"ImageLocality":0,"NodeResourcesFit":97,"TaintToleration":300},"total":397}]}`,
		},
		{
			"scalar resources by name",
			twoNodes + `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {containers: [{name: c, image: x, resources: {requests: {z.io/a: 1, a.io/z: 1, memory: 9Gi, hugepages-2Mi: 2Mi}}}]}}`,
			`{"pod":"team/p","schedulerName":"default-scheduler","result":"unschedulable","message":"0/2 nodes are available: 2 Insufficient a.io/z, 2 Insufficient hugepages-2Mi, 2 Insufficient memory, 2 Insufficient z.io/a.","nodes":[` +
				`{"name":"n1","code":"UnschedulableAndUnresolvable","plugin":"NodeResourcesFit","reasons":["Insufficient memory","Insufficient a.io/z","Insufficient hugepages-2Mi","Insufficient z.io/a"]},` +
				`{"name":"n2","code":"UnschedulableAndUnresolvable","plugin":"NodeResourcesFit","reasons":["Insufficient memory","Insufficient a.io/z","Insufficient hugepages-2Mi","Insufficient z.io/a"]}]}`,
		},
		{
			"one feasible node has no scores; a finished pod takes no room, a terminating one does",
			twoNodes + `
apiVersion: v1
kind: Pod
metadata: {name: old}
spec: {nodeName: n1, containers: [{name: c, image: x, resources: {requests: {cpu: 4}}}]}
status: {phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: leaving, deletionTimestamp: "2026-01-02T03:04:05Z"}
spec: {nodeName: n2, containers: [{name: c, image: x, resources: {requests: {cpu: 4}}}]}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 2}}}]}}`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1"],"nodes":[` +
				`{"name":"n1","code":"Success"},` +
				`{"name":"n2","code":"Unschedulable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]}]}`,
		},
		{
			"the nominated node ends the search",
			twoNodes + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}]}, status: {nominatedNodeName: n2}}`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n2","bestNodes":["n2"],"nodes":[{"name":"n1","code":"Success"},{"name":"n2","code":"Success"}]}`,
		},
		{
			"a plugin that refuses the nominated node is named among those that narrow",
			twoNodes + `
apiVersion: v1
kind: Node
metadata: {name: n3}
status: {allocatable: {cpu: 1, memory: 8Gi, pods: 10}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n3]}]}]}}}
  containers: [{name: c, image: x, resources: {requests: {cpu: 2}}}]
status: {nominatedNodeName: n3}`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"unschedulable","message":"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit].","nodes":[` +
				`{"name":"n1","code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity","reasons":["node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]"]},` +
				`{"name":"n2","code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity","reasons":["node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]"]},` +
				`{"name":"n3","code":"UnschedulableAndUnresolvable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]}]}`,
		},
		{
			"pods nominated to a node count there, with their requests",
			twoNodes + `
{apiVersion: v1, kind: Pod, metadata: {name: promised, namespace: other}, spec: {priority: 1, schedulingGates: [{name: "<a>"}, {name: b}], containers: [{name: c, image: x, resources: {requests: {cpu: 4}}}]}, status: {nominatedNodeName: n2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}`,
			`{"pod":"other/promised","schedulerName":"default-scheduler","result":"gated","message":"waiting for scheduling gates: [<a> b]"}` + "\n" +
				`{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1"],"nodes":[` +
				`{"name":"n1","code":"Success"},{"name":"n2","code":"Unschedulable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]}]}`,
		},
		{
			"PreFilter rejects for all nodes",
			twoNodes + `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}, {key: metadata.name, operator: In, values: [n2]}]}]}}}
  containers: [{name: c, image: x}]`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"unschedulable","message":"0/2 nodes are available: pod affinity terms conflict.",` +
				`"preFilter":{"code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity","reasons":["pod affinity terms conflict"]},"nodes":[` +
				`{"name":"n1","code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity","reasons":["pod affinity terms conflict"]},` +
				`{"name":"n2","code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity","reasons":["pod affinity terms conflict"]}]}`,
		},
		{
			"a preferred term that does not parse fails the attempt",
			twoNodes + `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Gt, values: [x]}]}}]}}
  containers: [{name: c, image: x}]`,
			`{"pod":"default/p","schedulerName":"default-scheduler","result":"error","message":"running PreScore plugin \"NodeAffinity\": [0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"}`,
		},
		{
			"ignored pods; no nodes",
			`
{apiVersion: v1, kind: Pod, metadata: {name: foreign}, spec: {schedulerName: other, containers: [{name: c, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: leaving, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {containers: [{name: c, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: done}, spec: {containers: [{name: c, image: x}]}, status: {phase: Failed}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {containers: [{name: c, image: x}]}}`,
			`{"pod":"default/foreign","schedulerName":"other","result":"ignored"}` + "\n" +
				`{"pod":"default/leaving","schedulerName":"default-scheduler","result":"ignored"}` + "\n" +
				`{"pod":"default/done","schedulerName":"default-scheduler","result":"ignored"}` + "\n" +
				`{"pod":"default/lost","schedulerName":"default-scheduler","result":"unschedulable","message":"no nodes available to schedule pods","nodes":[]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectRecords(t, evaluateText(t, test.cluster), test.want)
		})
	}
}

// Defaulting rounds every quantity up to thousandths before the sums are computed.
func TestQuantitiesAreRoundedBeforeTheyAreAdded(t *testing.T) {
	got := evaluateText(t, `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1m, memory: 1Gi, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: x, resources: {requests: {cpu: 500u}}}, {name: b, image: x, resources: {requests: {cpu: 500u}}}]}}`)
	if !strings.Contains(got[0], "0/1 nodes are available: 1 Insufficient cpu.") {
		t.Errorf("two times 500u fit into 1m: %s", got[0])
	}
}

// A running scheduler treats empty and missing lists equally.
func TestEmptyIsMissing(t *testing.T) {
	const nodes = `
{apiVersion: v1, kind: NodeList, items: [
  {metadata: {name: n1}, status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}},
  {metadata: {name: n2}, status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}}]}
---
`
	pod := func(affinity string) string {
		return nodes + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {affinity: {nodeAffinity: ` + affinity + `}, containers: [{name: c, image: x}]}}`
	}
	empty := evaluateText(t, pod("{preferredDuringSchedulingIgnoredDuringExecution: []}"))
	missing := evaluateText(t, pod("{}"))
	if empty[0] != missing[0] {
		t.Errorf("empty   %s\nmissing %s", empty[0], missing[0])
	}
	if strings.Contains(missing[0], "NodeAffinity") {
		t.Errorf("NodeAffinity should have been skipped: %s", missing[0])
	}
}

// A dump contains more kinds than these plugins use; they must not have an effect.
func TestOtherKindsAreTaken(t *testing.T) {
	lines := evaluateText(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {selector: {a: b}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, namespace: default}, spec: {selector: {matchLabels: {a: b}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}}
---
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: []}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: x}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: d}, spec: {extendedResourceName: example.com/dev}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, resources: {requests: {example.com/dev: 1}}}]}}`)
	// The class replaces the resource that the node lacks, so NodeResourcesFit accepts.
	want := `{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1"],"nodes":[{"name":"n1","code":"Success"}]}`
	if lines[0] != want {
		t.Errorf("got %s", lines[0])
	}
}

// Pod-level requests come from pod-level limits or from the containers when the pod is created.
func TestPodLevelResourcesAreCompleted(t *testing.T) {
	var dump Dump
	if err := dump.read(strings.NewReader(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
		"resources":{"limits":{"cpu":"3"}},
		"containers":[{"name":"c","image":"x","resources":{"requests":{"memory":"64Mi"}}}]}}`)); err != nil {
		t.Fatal(err)
	}
	requests := dump.Pods[0].Spec.Resources.Requests
	if requests.Cpu().String() != "3" || requests.Memory().String() != "64Mi" {
		t.Errorf("pod-level requests are %v", requests)
	}
}

func TestReadDumps(t *testing.T) {
	var dump Dump
	text := `
apiVersion: v1
kind: NodeList
items:
- {metadata: {name: b}}
- {metadata: {name: a}}
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: bad}, spec: {containers: [{name: c, resources: {requests: {cpu: 1Q}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: good}}
`
	if err := dump.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if len(dump.Nodes) != 2 || dump.sortedNodes()[0].Name != "a" {
		t.Errorf("nodes: %v", dump.Nodes)
	}
	if len(dump.Pods) != 1 || podKey(dump.Pods[0]) != "default/good" {
		t.Errorf("pods: %v", dump.Pods)
	}
	if len(dump.Problems) != 1 || !strings.HasPrefix(dump.Problems[0], "Pod /bad: ") {
		t.Errorf("problems: %q", dump.Problems)
	}
}

func TestEvaluateReportsUnreadableObjects(t *testing.T) {
	path := t.TempDir() + "/cluster.yaml"
	text := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: high}}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := dispatch([]string{"evaluate", "--config", "eleven-plugins.yaml", "-f", path}, &out, &errOut)
	if code != 2 || out.Len() != 0 || !strings.Contains(errOut.String(), "Pod /p: ") {
		t.Errorf("code %d, output %q, errors %q", code, out.String(), errOut.String())
	}
}

// A failing filter has no effect once the nominated node is feasible; the other nodes keep their verdicts.
func TestAnErrorBesidesTheNominatedNode(t *testing.T) {
	got := evaluateOnly(t, []string{"NodeUnschedulable", "NodeVolumeLimits"}, nodesIn("a", "b")+
		"{apiVersion: v1, kind: Node, metadata: {name: n3}, spec: {unschedulable: true}, status: {allocatable: {pods: 10}}}\n---\n"+
		"{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: d, nodeID: n1, topologyKeys: [], allocatable: {count: 3}}]}}\n---\n"+
		"{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {csi: {driver: d, volumeHandle: v}}}\n---\n"+
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {volumeName: v}}\n---\n"+
		"{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {nodeName: n1, containers: [{name: c, image: x}], volumes: [{name: v, persistentVolumeClaim: {claimName: ''}}]}}\n---\n"+
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}, status: {nominatedNodeName: n2}}")
	expectRecords(t, got, `{"pod":"default/p","schedulerName":"default-scheduler","result":"scheduled","node":"n2","bestNodes":["n2"],"nodes":[`+
		`{"name":"n1","code":"Error"},{"name":"n2","code":"Success"},{"name":"n3","code":"UnschedulableAndUnresolvable","plugin":"NodeUnschedulable","reasons":["node(s) were unschedulable"]}]}`)
}
