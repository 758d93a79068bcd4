package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

// The steps of a scenario that change nodes and pods.

type nodeOption func(*v1.Node)
type podOption func(*v1.Pod)

// noticed is the time that a scheduler may need to observe a node's change before pods are created; the
// watches are not ordered.
const noticed = 250 * time.Millisecond

// node creates a node with 4 CPUs, 8 GiB and room for 20 pods.
func (s *stage) node(name string, options ...nodeOption) {
	s.nodes(1, func(int) string { return name }, options...)
}

func (s *stage) nodes(count int, name func(i int) string, options ...nodeOption) {
	for i := range count {
		node := controlplane.ReadyNode(name(i), controlplane.Resources("cpu", "4", "memory", "8Gi", "pods", "20"))
		for _, option := range options {
			option(node)
		}
		node.Status.Capacity = node.Status.Allocatable
		_, err := s.client.CoreV1().Nodes().Create(s.ctx, node, metav1.CreateOptions{})
		s.must(err)
	}
	s.pause(noticed)
}

func allocatable(pairs ...string) nodeOption {
	return func(n *v1.Node) {
		for name, amount := range controlplane.Resources(pairs...) {
			n.Status.Allocatable[name] = amount
		}
	}
}

func labelled(key, value string) nodeOption {
	return func(n *v1.Node) { n.Labels[key] = value }
}

func tainted(key string, effect v1.TaintEffect) nodeOption {
	return func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: effect}) }
}

func unschedulable(n *v1.Node) { n.Spec.Unschedulable = true }

func image(name string, size int64) nodeOption {
	return func(n *v1.Node) {
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{name}, SizeBytes: size})
	}
}

// patchNode applies a JSON patch to a node.
func (s *stage) patchNode(name, patch string, subresources ...string) {
	_, err := s.client.CoreV1().Nodes().Patch(s.ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	s.must(err)
}

func (s *stage) resizeNode(name, what, amount string) {
	s.patchNode(name, fmt.Sprintf(`[{"op":"replace","path":"/status/allocatable/%s","value":%q}]`, what, amount), "status")
}

// announce adds a device like a device plugin; the name is escaped as in a JSON pointer.
func (s *stage) announce(node, device, amount string) {
	s.patchNode(node, fmt.Sprintf(`[{"op":"add","path":"/status/capacity/%s","value":%q},{"op":"add","path":"/status/allocatable/%s","value":%q}]`, device, amount, device, amount), "status")
}

func (s *stage) labelNode(name, key, value string) {
	s.patchNode(name, fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/%s","value":%q}]`, key, value))
}

func (s *stage) cordon(name string, yes bool) {
	s.patchNode(name, fmt.Sprintf(`[{"op":"add","path":"/spec/unschedulable","value":%t}]`, yes))
}

func (s *stage) untaint(name string) { s.patchNode(name, `[{"op":"remove","path":"/spec/taints"}]`) }

func (s *stage) deleteNode(name string) {
	s.must(s.client.CoreV1().Nodes().Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.pause(noticed)
}

// pod creates a pod that requests a tenth of a CPU.
func (s *stage) pod(name string, options ...podOption) {
	s.create(name, options...)
	s.until("the watch delivers pod "+name, func() bool { history := s.history(name); return history.latest != nil && !history.gone })
}

// create does not wait until the watch delivers the pod.
func (s *stage) create(name string, options ...podOption) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "example.org/app"}}},
	}
	asking("cpu", "100m")(pod)
	for _, option := range options {
		option(pod)
	}
	_, err := s.client.CoreV1().Pods(s.ns).Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
}

func asking(pairs ...string) podOption {
	return func(p *v1.Pod) {
		requests := &p.Spec.Containers[0].Resources.Requests
		if *requests == nil {
			*requests = make(v1.ResourceList)
		}
		for name, amount := range controlplane.Resources(pairs...) {
			(*requests)[name] = amount
		}
	}
}

// devices have equal requests and limits, as the API requires.
func devices(name, amount string) podOption {
	return func(p *v1.Pod) {
		asking(name, amount)(p)
		limits := &p.Spec.Containers[0].Resources.Limits
		if *limits == nil {
			*limits = make(v1.ResourceList)
		}
		(*limits)[v1.ResourceName(name)] = resource.MustParse(amount)
	}
}

func selecting(key, value string) podOption {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func tolerating(key string) podOption {
	return func(p *v1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
}

func hostPort(address string, port int32) podOption {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: port, HostPort: port, HostIP: address}}
	}
}

func gated(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.org/later"}} }

func finalized(p *v1.Pod) { p.Finalizers = []string{"example.org/keep"} }

func class(name string) podOption { return func(p *v1.Pod) { p.Spec.PriorityClassName = name } }

func on(node string) podOption { return func(p *v1.Pod) { p.Spec.NodeName = node } }

func schedulerName(name string) podOption { return func(p *v1.Pod) { p.Spec.SchedulerName = name } }

func running(name string) podOption { return func(p *v1.Pod) { p.Spec.Containers[0].Image = name } }

func nodeAffinity(p *v1.Pod) *v1.NodeAffinity {
	affinity := affinityOf(p)
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = new(v1.NodeAffinity)
	}
	return affinity.NodeAffinity
}

// onlyOn is a node affinity by names, as used by DaemonSets.
func onlyOn(nodes ...string) podOption {
	return func(p *v1.Pod) {
		nodeAffinity(p).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: nodes}}}}}
	}
}

func preferring(key, value string) podOption {
	return func(p *v1.Pod) {
		nodeAffinity(p).PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 100, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}
	}
}

// patchPod applies a JSON patch to a pod.
func (s *stage) patchPod(name, patch string, subresources ...string) {
	_, err := s.client.CoreV1().Pods(s.ns).Patch(s.ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	s.must(err)
}

func (s *stage) ungate(name string) {
	s.patchPod(name, `[{"op":"remove","path":"/spec/schedulingGates"}]`)
}

func (s *stage) labelPod(name, key, value string) {
	s.patchPod(name, fmt.Sprintf(`[{"op":"add","path":"/metadata/labels","value":{%q:%q}}]`, key, value))
}

func (s *stage) tolerate(name, key string) {
	s.patchPod(name, fmt.Sprintf(`[{"op":"add","path":"/spec/tolerations/-","value":{"key":%q,"operator":"Exists"}}]`, key))
}

// nominate sets a pod's nominated node, like an autoscaler.
func (s *stage) nominate(name, node string) {
	s.patchPod(name, fmt.Sprintf(`[{"op":"add","path":"/status/nominatedNodeName","value":%q}]`, node), "status")
	s.pause(noticed)
}

// resize changes a pod's requests in place.
func (s *stage) resize(name, what, amount string) {
	s.patchPod(name, fmt.Sprintf(`[{"op":"replace","path":"/spec/containers/0/resources/requests/%s","value":%q}]`, what, amount), "resize")
}

func (s *stage) deletePod(name string) {
	s.must(s.client.CoreV1().Pods(s.ns).Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	s.until("the watch delivers that pod "+name+" goes", func() bool {
		history := s.history(name)
		return history.gone || history.latest.DeletionTimestamp != nil
	})
}

// bind binds a pod without the scheduler.
func (s *stage) bind(name, node string) {
	s.must(s.client.CoreV1().Pods(s.ns).Bind(s.ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}))
}

// before runs a step when the scheduler sends a pod's binding, before the API server receives it.
func (s *stage) before(name string, do func()) {
	s.lane.proxy.once("/pods/"+name+"/binding", carryAfter(do))
}

// finish sets a pod's phase, like a kubelet after the containers have ended.
func (s *stage) finish(name string, phase v1.PodPhase) {
	s.patchPod(name, fmt.Sprintf(`[{"op":"replace","path":"/status/phase","value":%q}]`, phase), "status")
}

// expected waits until the scheduler has nominated a pod to a node for which it prepares volumes or devices. Older
// kube-schedulers do not.
func (s *stage) expected(name, node string) {
	if s.lane.kind.berth || s.lane.release.Minor >= nominationsSince {
		s.nominatedTo(name, node)
	}
}

// nominatedTo waits until the scheduler has nominated the pod to a node.
func (s *stage) nominatedTo(name, node string) {
	s.until(fmt.Sprintf("pod %s is nominated to %s", name, node), func() bool {
		history := s.history(name)
		return history.latest != nil && history.latest.Status.NominatedNodeName == node
	})
}
