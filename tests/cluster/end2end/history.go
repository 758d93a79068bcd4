package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	podresources "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/go-logr/logr"
)

// history is the data of the watch, and the nodes at the end.
type history struct {
	changes []change
	nodes   map[string]*v1.Node
	err     error
}

func (r *reader) history() *history {
	h := &history{nodes: make(map[string]*v1.Node)}
	nodes, err := r.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		h.err = err
		return h
	}
	for i := range nodes.Items {
		h.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	h.changes = append(h.changes, r.changes...)
	h.err = r.err
	return h
}

// occupancy is the resource usage of one node.
type occupancy struct {
	requests v1.ResourceList
	pods     int
	ports    map[string]string
}

// check replays the history and returns all violations.
func (h *history) check(w *workload) []string {
	if h.err != nil {
		return []string{h.err.Error()}
	}
	var violations []string
	addError := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }

	forbidden := make(map[string]bool)
	for _, pod := range append(append([]*v1.Pod{}, w.refused...), w.twins...) {
		forbidden[pod.Name] = true
	}
	nodeOf := make(map[string]string)
	held := make(map[string]*occupancy)
	for _, change := range h.changes {
		pod, name := change.pod, change.pod.Name
		before := nodeOf[name]
		if change.kind == watch.Deleted {
			if before != "" {
				held[before].leave(pod)
				delete(nodeOf, name)
			}
			continue
		}
		now := pod.Spec.NodeName
		switch {
		case before == now:
			continue
		case before != "":
			addError("pod %s went from node %s to %q", name, before, now)
			continue
		case forbidden[name]:
			addError("pod %s fits no node and was bound to %s", name, now)
		}
		nodeOf[name] = now
		node := h.nodes[now]
		if node == nil {
			addError("pod %s was bound to %s, which is no node", name, now)
			continue
		}
		if held[now] == nil {
			held[now] = &occupancy{requests: make(v1.ResourceList), ports: make(map[string]string)}
		}
		for _, text := range held[now].enter(pod, node) {
			addError("%s", text)
		}
		for _, text := range misplaced(pod, node) {
			addError("%s", text)
		}
	}
	for _, pod := range w.fitting {
		if nodeOf[pod.Name] == "" && !h.wasBound(pod.Name) {
			addError("pod %s was never bound", pod.Name)
		}
	}
	return violations
}

func (h *history) wasBound(name string) bool {
	for _, change := range h.changes {
		if change.pod.Name == name && change.pod.Spec.NodeName != "" {
			return true
		}
	}
	return false
}

// enter adds a pod to its node and returns the exceeded resources.
func (o *occupancy) enter(pod *v1.Pod, node *v1.Node) (exceeded []string) {
	o.pods++
	if most := node.Status.Allocatable.Pods().Value(); int64(o.pods) > most {
		exceeded = append(exceeded, fmt.Sprintf("pod %s is number %d on node %s, which takes %d", pod.Name, o.pods, node.Name, most))
	}
	for name, amount := range podresources.PodRequests(pod, podresources.PodResourcesOptions{}) {
		sum := o.requests[name]
		sum.Add(amount)
		o.requests[name] = sum
		if most := node.Status.Allocatable[name]; sum.Cmp(most) > 0 {
			exceeded = append(exceeded, fmt.Sprintf("with pod %s node %s holds %s of %s %s", pod.Name, node.Name, sum.String(), most.String(), name))
		}
	}
	for _, port := range hostPorts(pod) {
		if other, taken := o.ports[port]; taken {
			exceeded = append(exceeded, fmt.Sprintf("pods %s and %s both have port %s of node %s", other, pod.Name, port, node.Name))
		}
		o.ports[port] = pod.Name
	}
	return exceeded
}

func (o *occupancy) leave(pod *v1.Pod) {
	o.pods--
	for name, amount := range podresources.PodRequests(pod, podresources.PodResourcesOptions{}) {
		left := o.requests[name]
		left.Sub(amount)
		o.requests[name] = left
	}
	for _, port := range hostPorts(pod) {
		delete(o.ports, port)
	}
}

func hostPorts(pod *v1.Pod) (ports []string) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				ports = append(ports, fmt.Sprintf("%s/%d", port.Protocol, port.HostPort))
			}
		}
	}
	return ports
}

// misplaced returns the node rules that the binding violates.
func misplaced(pod *v1.Pod, node *v1.Node) (broken []string) {
	if node.Spec.Unschedulable {
		broken = append(broken, fmt.Sprintf("pod %s was bound to node %s, which is unschedulable", pod.Name, node.Name))
	}
	taint, untolerated := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }, false)
	if untolerated {
		broken = append(broken, fmt.Sprintf("pod %s does not tolerate taint %s of node %s", pod.Name, taint.ToString(), node.Name))
	}
	if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !match {
		broken = append(broken, fmt.Sprintf("pod %s does not select node %s (%v)", pod.Name, node.Name, err))
	}
	return broken
}
