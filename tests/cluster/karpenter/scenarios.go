package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

type scenario struct {
	name string
	run  func(s *stage)
}

var scenarios = []scenario{
	{"pods that fit nowhere get one node together", func(s *stage) {
		s.pod("a", "1")
		s.pod("b", "1")
		s.rejected("a")
		s.bound("a", "b")
		s.nodes(1)
	}},
	{"the cheapest node on which a pod fits", func(s *stage) {
		s.pod("large", "10")
		s.bound("large")
		s.nodes(1)
	}},
	{"a gated pod gets no node until the gate is removed", func(s *stage) {
		s.pod("gated", "1", func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}} })
		s.rejected("gated")
		s.nodes(0)
		pod, err := s.control.Client.CoreV1().Pods("default").Get(s.ctx, "gated", metav1.GetOptions{})
		s.must(err)
		pod.Spec.SchedulingGates = nil
		_, err = s.control.Client.CoreV1().Pods("default").Update(s.ctx, pod, metav1.UpdateOptions{})
		s.must(err)
		s.bound("gated")
		s.nodes(1)
	}},
	{"spread over zones needs a node in each", func(s *stage) {
		spread := func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone,
				WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "test"}}}}
		}
		for _, name := range []string{"a", "b", "c"} {
			s.pod(name, "1", spread)
		}
		s.bound("a", "b", "c")
		s.nodes(3)
	}},
	{"anti-affinity needs a node for each pod", func(s *stage) {
		alone := func(pod *v1.Pod) {
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "test"}}}}}}
		}
		s.pod("a", "1", alone)
		s.pod("b", "1", alone)
		s.bound("a", "b")
		s.nodes(2)
	}},
	{"a pod that preempts gets no node", func(s *stage) {
		for name, value := range map[string]int32{"low": 10, "high": 1000} {
			_, err := s.control.Client.SchedulingV1().PriorityClasses().Create(s.ctx,
				&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
			s.must(err)
			s.must(s.control.AwaitPriorityClass(s.ctx, name))
		}
		// A node that Karpenter did not create: Karpenter adds none for a pod that fits on it after an eviction.
		s.must(s.control.CreateNode(s.ctx, controlplane.ReadyNode("own", controlplane.Resources("cpu", "2", "memory", "8Gi", "pods", "10"))))
		s.pod("low", "2", func(pod *v1.Pod) { pod.Spec.PriorityClassName = "low" })
		s.bound("low")
		s.pod("high", "2", func(pod *v1.Pod) { pod.Spec.PriorityClassName = "high" })
		s.bound("high")
		s.nodes(0)
	}},
	{"a pod that no node could satisfy gets none", func(s *stage) {
		s.pod("impossible", "1", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "elsewhere"} })
		s.rejected("impossible")
		s.nodes(0)
	}},
	{"an empty node is removed, and the next pod gets a new one", func(s *stage) {
		s.pod("a", "1")
		s.bound("a")
		s.nodes(1)
		s.deletePod("a")
		s.nodes(0)
		s.pod("b", "1")
		s.bound("b")
		s.nodes(1)
	}},
	{"forty pods at once", func(s *stage) {
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("p-%02d", i))
			s.pod(names[i], "900m")
		}
		for _, name := range names {
			_, err := s.control.NodeOf(s.ctx, stepTimeout, name)
			s.must(err)
		}
		s.say("all bound")
	}},
}
