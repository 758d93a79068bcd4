package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	// kwokLabel is on the nodes that Karpenter creates.
	kwokLabel = "kwok.x-k8s.io/node"
	// stepTimeout includes Karpenter's waiting for further pods, a second after the last one.
	stepTimeout = time.Minute
	// quiet is the time in which Karpenter would have created a node: it waits a second for further pods.
	quiet = 6 * time.Second
)

// stage is a running control plane with Karpenter. A failing step ends the scenario with a panic.
type stage struct {
	ctx       context.Context
	control   *controlplane.ControlPlane
	karpenter *controlplane.Child
	close     func() // ends the kubelets
	lines     []string
}

func newStage(ctx context.Context, control *controlplane.ControlPlane, karpenter *controlplane.Child) *stage {
	s := &stage{ctx: ctx, control: control, karpenter: karpenter}
	s.close = controlplane.Every(ctx, 100*time.Millisecond, s.runKubelets)
	return s
}

// runKubelets makes new nodes ready and removes pods that are to be terminated, like a kubelet whose containers end at once.
func (s *stage) runKubelets(ctx context.Context) {
	nodes, err := s.control.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: kwokLabel})
	if err != nil {
		return
	}
	for _, node := range nodes.Items {
		ready := slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
		if !ready {
			node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"})
			_, _ = s.control.Client.CoreV1().Nodes().UpdateStatus(ctx, &node, metav1.UpdateOptions{})
		}
	}
	pods, err := s.pods(ctx)
	if err != nil {
		return
	}
	now := int64(0)
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" {
			_ = s.control.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
	}
}

func (s *stage) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (s *stage) must(err error) { controlplane.Must(err) }

func (s *stage) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *stage) until(what string, happened func() (bool, error)) {
	if !s.karpenter.Running() {
		s.must(s.karpenter.Gone())
	}
	s.must(controlplane.Until(s.ctx, stepTimeout, what, happened))
}

// pod creates a pod that requests this amount of CPU.
func (s *stage) pod(name, cpu string, changes ...func(*v1.Pod)) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "test"}}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "c", Image: "none", Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", cpu, "memory", "64Mi")}}}}}
	for _, change := range changes {
		change(pod)
	}
	_, err := s.control.Client.CoreV1().Pods("default").Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
}

func (s *stage) deletePod(name string) { s.must(s.control.DeletePod(s.ctx, name)) }

// bound waits until these pods have nodes, and notes on what nodes they are together.
func (s *stage) bound(names ...string) {
	together := map[string][]string{}
	for _, name := range names {
		node, err := s.control.NodeOf(s.ctx, stepTimeout, name)
		s.must(err)
		together[node] = append(together[node], name)
	}
	var groups []string
	for node, pods := range together {
		object, err := s.control.Client.CoreV1().Nodes().Get(s.ctx, node, metav1.GetOptions{})
		s.must(err)
		kind := object.Labels[v1.LabelInstanceTypeStable]
		if kind == "" {
			kind = node
		}
		groups = append(groups, fmt.Sprintf("%s on a node %s", strings.Join(pods, ", "), kind))
	}
	slices.Sort(groups)
	for _, group := range groups {
		s.say("%s", group)
	}
}

// nodes waits until Karpenter has so many nodes, that this is so for the time `quiet`, and notes it.
func (s *stage) nodes(wanted int) {
	count := func() int {
		list, err := s.control.Client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{LabelSelector: kwokLabel})
		s.must(err)
		return len(list.Items)
	}
	s.until(fmt.Sprintf("%d nodes of Karpenter", wanted), func() (bool, error) { return count() == wanted, nil })
	s.must(controlplane.Pause(s.ctx, quiet))
	s.say("%d nodes of Karpenter", count())
}

// rejected notes the pod's condition once it has been rejected.
func (s *stage) rejected(name string) {
	s.until(name+" to be rejected", func() (bool, error) {
		pod, err := s.control.Client.CoreV1().Pods("default").Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				s.say("%s: %s", name, condition.Reason)
				return true, nil
			}
		}
		return false, nil
	})
}
