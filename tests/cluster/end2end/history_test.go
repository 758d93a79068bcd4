package main

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"berth.test/cluster/controlplane"
)

// Provokes each violation once: otherwise a checker without findings would prove nothing.
func TestCheckFindsViolations(t *testing.T) {
	nodes := make(map[string]*v1.Node)
	for i := range 10 {
		node := newNode(i)
		nodes[node.Name] = node
	}
	pod := func(name string, change func(*v1.Pod)) *v1.Pod {
		p := plainPod(name, controlplane.Resources("cpu", "5"))
		if change != nil {
			change(p)
		}
		return p
	}
	port := func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, Protocol: v1.ProtocolTCP}}
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{}
	}
	bind := func(p *v1.Pod, node string) change {
		p = p.DeepCopy()
		p.Spec.NodeName = node
		return change{kind: watch.Modified, pod: p}
	}
	gone := func(c change) change {
		c.kind = watch.Deleted
		return c
	}
	a, b, refused := pod("a", nil), pod("b", nil), pod("refused", nil)

	tests := []struct {
		name    string
		changes []change
		want    string
	}{
		{"in order", []change{bind(a, "n-0"), bind(b, "n-3")}, ""},
		{"told twice", []change{bind(a, "n-0"), bind(a, "n-0"), bind(b, "n-3")}, ""},
		{"room again", []change{bind(a, "n-0"), gone(bind(a, "n-0")), bind(b, "n-0")}, ""},
		{"overfull", []change{bind(a, "n-0"), bind(b, "n-0")}, "holds 10 of 8 cpu"},
		{"overfull for a moment", []change{bind(a, "n-0"), bind(b, "n-0"), gone(bind(a, "n-0"))}, "holds 10 of 8 cpu"},
		{"moved", []change{bind(a, "n-0"), bind(a, "n-3"), bind(b, "n-3")}, "went from node n-0"},
		{"never bound", []change{bind(a, "n-0")}, "pod b was never bound"},
		{"no such node", []change{bind(a, "n-0"), bind(b, "n-99")}, "n-99, which is no node"},
		{"refused", []change{bind(a, "n-0"), bind(b, "n-3"), bind(refused, "n-5")}, "fits no node"},
		{"unschedulable", []change{bind(a, "n-0"), bind(b, "n-1")}, "n-1, which is unschedulable"},
		{"tainted", []change{bind(a, "n-0"), bind(b, "n-2")}, "does not tolerate taint dedicated=batch:NoSchedule"},
		{"not selected", []change{bind(a, "n-0"), bind(pod("b", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }), "n-6")}, "does not select node n-6"},
		{"ports", []change{bind(pod("a", port), "n-0"), bind(pod("b", port), "n-0")}, "both have port TCP/80"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := &history{changes: test.changes, nodes: nodes}
			got := strings.Join(h.check(&workload{fitting: []*v1.Pod{a, b}, refused: []*v1.Pod{refused}}), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPodsPerNodeAreCounted(t *testing.T) {
	node := newNode(0)
	node.Status.Allocatable["pods"] = controlplane.Resources("pods", "2")["pods"]
	held := occupancy{requests: make(v1.ResourceList), ports: make(map[string]string)}
	for i := range 3 {
		takeErrors := held.enter(plainPod(fmt.Sprint("p", i), nil), node)
		if (len(takeErrors) > 0) != (i == 2) {
			t.Errorf("pod %d: %q", i, takeErrors)
		}
	}
}
