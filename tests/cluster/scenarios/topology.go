package main

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// groupingByTopology contains scenarios with pod groups whose members belong into one rack.
func groupingByTopology() []*scenario {
	return []*scenario{
		{name: "a gang goes to the rack with room for it", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("b-1", labelled("rack", "b"))
			s.node("b-2", labelled("rack", "b"), allocatable("cpu", "7"))
			s.gang("g", 2, byRack)
			s.members("g", []string{"a", "b"}, asking("cpu", "3500m"))
			s.bound("a", "b")
			s.reportGroup("g", metav1.ConditionTrue)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a gang that fits into no rack", uncounted: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.gang("g", 2, byRack)
			s.members("g", []string{"a", "b"}, asking("cpu", "3"))
			s.refused("b", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "a gang that fits into none of two equal racks", uncounted: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("b-1", labelled("rack", "b"))
			s.gang("g", 2, byRack)
			s.members("g", []string{"a", "b"}, asking("cpu", "3"))
			s.refused("b", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "no node has the label of the racks", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2, byRack)
			s.members("g", []string{"a", "b"})
			s.refused("b", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "a gang without a constraint", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.gang("g", 2)
			s.members("g", []string{"a", "b"}, asking("cpu", "2"))
			s.bound("a", "b")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
		{name: "a member follows the others into their rack", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.gang("g", 1, byRack)
			s.members("g", []string{"a"}, asking("cpu", "1"))
			s.bound("a")
			s.node("b-1", labelled("rack", "b"), allocatable("cpu", "64"))
			s.pause(noticed)
			s.members("g", []string{"b"}, asking("cpu", "1"))
			s.bound("b")
			s.report("pods on nodes: %v", s.occupants())
		}},
		// A single member, and racks that reject the gang for the same reason: kube-scheduler visits members and racks in a
		// random order.
		{name: "a member runs outside of the racks", uncounted: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("n-1")
			s.gang("g", 1, byRack)
			s.pod("x", inGroup("g"), on("n-1"))
			s.pause(noticed)
			s.pod("late", inGroup("g"))
			s.refused("late", "cannot determine domain")
		}},
		{name: "the rack with room for more members", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"), allocatable("cpu", "7"))
			s.node("b-1", labelled("rack", "b"), allocatable("cpu", "10"))
			s.members("g", []string{"a", "b", "c"}, asking("cpu", "3"))
			s.gang("g", 2, byRack)
			s.bound("a", "b", "c")
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "the fuller of two racks", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"), allocatable("cpu", "16"))
			s.node("b-1", labelled("rack", "b"), allocatable("cpu", "16"))
			s.pod("filler", asking("cpu", "8"), selecting("rack", "b"))
			s.bound("filler")
			s.gang("g", 2, byRack)
			s.members("g", []string{"a", "b"}, asking("cpu", "2"))
			s.bound("a", "b")
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a gang evicts pods of one rack", seconds: 4, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"), allocatable("cpu", "1"))
			s.node("b-1", labelled("rack", "b"))
			s.pod("humble", lowPriority, selecting("rack", "b"))
			s.bound("humble")
			s.gang("g", 2, byRack, important)
			s.members("g", []string{"a", "b"}, class("high"), asking("cpu", "2"))
			s.bound("a", "b")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
	}
}

// byRack makes all members of a group belong into one rack.
func byRack(spec *schedulingv1beta1.PodGroupSpec) {
	spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
		Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}
}
