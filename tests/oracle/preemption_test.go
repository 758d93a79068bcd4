package main

import (
	"strings"
	"testing"
)

// evaluateStock evaluates a handwritten cluster with kube-scheduler's default configuration.
func evaluateStock(t *testing.T, cluster string) []string {
	t.Helper()
	lines, err := (&Scenario{Cluster: []byte(cluster)}).evaluate(silence())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// The expected records are derived from the rules by hand, not copied from the output.
func TestPreemption(t *testing.T) {
	node := func(name string) string {
		return `{apiVersion: v1, kind: Node, metadata: {name: ` + name + `}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}` + "\n---\n"
	}
	bound := func(name, node, cpu, more string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, labels: {name: ` + name + `}}, spec: {nodeName: ` + node + `, ` + more +
			` containers: [{name: c, image: x, resources: {requests: {cpu: ` + cpu + `}}}]}, status: {startTime: "2026-01-0` + name[1:] + `T00:00:00Z"}}` + "\n---\n"
	}
	short := func(node string) string {
		return `{"name":"` + node + `","code":"Unschedulable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]}`
	}
	// The pod requests three of four CPUs on every node.
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 9, containers: [{name: c, image: x, resources: {requests: {cpu: 3}}}]}}`
	const head = `{"pod":"default/p","schedulerName":"default-scheduler","result":"unschedulable","message":"0/`
	tests := []struct{ name, cluster, want string }{
		{
			"equally good nodes share the choice, and the record takes the first",
			node("n1") + node("n2") + bound("v2", "n2", "4", "") + bound("w2", "n1", "4", "") + pod,
			head + `2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",` +
				`"nodes":[` + short("n1") + `,` + short("n2") + `],"nomination":{"node":"n1","victims":["default/w2"],"choices":["n1","n2"]}}`,
		},
		{
			"the later start decides among equals",
			node("n1") + node("n2") + bound("v2", "n2", "4", "") + bound("w1", "n1", "4", "") + pod,
			head + `2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n2, preempting 1 victims",` +
				`"nodes":[` + short("n1") + `,` + short("n2") + `],"nomination":{"node":"n2","victims":["default/v2"],"choices":["n2"]}}`,
		},
		{
			// n1 has one victim of priority 0 under an exhausted budget, n2 one of priority 5 without.
			"a budget counts more than priority",
			node("n1") + node("n2") + bound("v2", "n2", "4", "priority: 5,") + bound("w1", "n1", "4", "") +
				`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {selector: {matchLabels: {name: w1}}}, status: {disruptionsAllowed: 0}}` + "\n---\n" + pod,
			head + `2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n2, preempting 1 victims",` +
				`"nodes":[` + short("n1") + `,` + short("n2") + `],"nomination":{"node":"n2","victims":["default/v2"],"choices":["n2"]}}`,
		},
		{
			// Two CPUs must be freed. First v1 is reprieved, then the older of w2 and w3, which does not fit any more.
			"the more important pods stay as long as there is room",
			node("n1") + bound("v1", "n1", "1", "priority: 5,") + bound("w2", "n1", "1", "") + bound("w3", "n1", "2", "") + pod,
			head + `1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 2 victims",` +
				`"nodes":[` + short("n1") + `],"nomination":{"node":"n1","victims":["default/w2","default/w3"],"choices":["n1"]}}`,
		},
		{
			// The budget's pod is reprieved first although it is the youngest; then the others do not fit.
			"pods under an exhausted budget are spared first",
			node("n1") + bound("v1", "n1", "1", "priority: 5,") + bound("w2", "n1", "2", "") + bound("w3", "n1", "1", "") +
				`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {selector: {matchLabels: {name: w3}}}, status: {disruptionsAllowed: 0}}` + "\n---\n" + pod,
			head + `1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 2 victims",` +
				`"nodes":[` + short("n1") + `],"nomination":{"node":"n1","victims":["default/v1","default/w2"],"choices":["n1"]}}`,
		},
		{
			"there is no pod of lower priority",
			node("n1") + bound("v1", "n1", "4", "priority: 9,") + pod,
			head + `1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",` +
				`"nodes":[` + short("n1") + `]}`,
		},
		{
			"preemption is not tried where eviction cannot help",
			`{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}` + "\n---\n" + bound("v1", "n1", "2", "") + pod,
			head + `1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",` +
				`"nodes":[{"name":"n1","code":"UnschedulableAndUnresolvable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]}]}`,
		},
		{
			"a pod may have given preemption up",
			node("n1") + bound("v1", "n1", "2", "") + strings.Replace(pod, "priority: 9", "priority: 9, preemptionPolicy: Never", 1),
			head + `1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",` +
				`"nodes":[` + short("n1") + `]}`,
		},
		{
			"each pod is evaluated alone: capacity freed for one is free for the next",
			node("n1") + bound("v1", "n1", "4", "") + pod + "\n---\n" + strings.Replace(pod, "name: p", "name: q", 1),
			head + `1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",` +
				`"nodes":[` + short("n1") + `],"nomination":{"node":"n1","victims":["default/v1"],"choices":["n1"]}}` + "\n" +
				strings.Replace(head, "/p", "/q", 1) + `1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",` +
				`"nodes":[` + short("n1") + `],"nomination":{"node":"n1","victims":["default/v1"],"choices":["n1"]}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expectRecords(t, evaluateStock(t, test.cluster), test.want)
		})
	}
}

// Victims without a start time count as started at the same time, so the names decide: of equal ones the first is more
// important.
func TestVictimsWithoutStartTimeGoByName(t *testing.T) {
	got := evaluateStock(t, `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {nodeName: n1, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n1, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 1, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}`)
	if !strings.Contains(got[0], `"nomination":{"node":"n1","victims":["default/b"],"choices":["n1"]}`) {
		t.Errorf("got %s", got[0])
	}
}
