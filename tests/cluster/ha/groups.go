package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	groupGate     = "--feature-gates=GenericWorkload=true"
	groupPeriod   = 10 // of this number of created pods, the first groupSize are the members of a new group
	groupSize     = 6
	groupMinCount = 4
	// The group that never fits has one member more than there are nodes for them, each of which takes one.
	largeGroup  = "too-large"
	narrowNodes = 2
)

// prepareNarrowNodes creates the nodes of the group that never fits, for no other pods.
func prepareNarrowNodes(ctx context.Context, client kubernetes.Interface) error {
	return controlplane.Each(ctx, narrowNodes, func(i int) error {
		node := controlplane.ReadyNode(fmt.Sprintf("narrow-%d", i), controlplane.Resources("cpu", "1", "memory", "8Gi", "pods", "110"), "narrow", "true")
		node.Spec.Taints = []v1.Taint{{Key: "narrow", Effect: v1.TaintEffectNoSchedule}}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
}

func groupOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup == nil || pod.Spec.SchedulingGroup.PodGroupName == nil {
		return ""
	}
	return *pod.Spec.SchedulingGroup.PodGroupName
}

// createLargeGroup creates a group of which two members find a node at every attempt, and three are needed.
func (s *stage) createLargeGroup(ctx context.Context) error {
	client := s.control.Client
	if err := controlplane.CreateGang(ctx, client, s.id, largeGroup, narrowNodes+1); err != nil {
		return err
	}
	return controlplane.Each(ctx, narrowNodes+1, func(i int) error {
		pod := newPod(s.id, fmt.Sprintf("%s-%d", largeGroup, i), s.id)
		controlplane.JoinGroup(pod, largeGroup)
		pod.Spec.NodeSelector = map[string]string{"narrow": "true"}
		pod.Spec.Tolerations = []v1.Toleration{{Key: "narrow", Operator: v1.TolerationOpExists}}
		pod.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "600m")
		_, err := client.CoreV1().Pods(s.id).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// checkGroups checks that no group is bound in part: fewer members than its minimum, or any of the group that never fits.
// checkPods requires that the members of the others are bound. It returns the number of groups with bound members.
func (s *stage) checkGroups() int {
	bound := make(map[string]map[string]bool) // by group, the names of the pods
	large := make(map[string]bool)
	for _, seen := range s.watcher.podsOf(s.id) {
		group := groupOf(seen.pod)
		switch {
		case group == largeGroup:
			large[seen.pod.Name] = true
			if seen.pod.Spec.NodeName != "" {
				s.addError("pod %s was bound to %s, although its group does not fit", seen.pod.Name, seen.pod.Spec.NodeName)
			}
		case group != "" && seen.pod.Spec.NodeName != "":
			if bound[group] == nil {
				bound[group] = make(map[string]bool)
			}
			bound[group][seen.pod.Name] = true
		}
	}
	for group, pods := range bound {
		if len(pods) < groupMinCount {
			s.addError("%d members of group %s were bound, fewer than %d", len(pods), group, groupMinCount)
		}
	}
	if len(large) != narrowNodes+1 {
		s.addError("the watch delivered %d members of group %s", len(large), largeGroup)
	}
	return len(bound)
}
