package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	pluginsconfig "sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/scheduler-plugins/pkg/preemptiontoleration"
)

func newToleration(ctx context.Context, _ runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	return preemptiontoleration.New(ctx, &pluginsconfig.PreemptionTolerationArgs{
		MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 100,
	}, handle)
}

// generateTolerations creates small, nearly full nodes, priority classes with tolerations, and a pod. Times of
// tolerations have ended long ago, or end in this century: results do not depend on the clock.
func generateTolerations(seed uint64) *preemptionScenario {
	g := generator{rand.New(rand.NewPCG(seed, 31))}
	s := &preemptionScenario{
		Seed: seed, Quotas: []*v1alpha1.ElasticQuota{}, Placed: []*v1.Pod{},
		Budget: []*policyv1.PodDisruptionBudget{}, Nominated: []*v1.Pod{},
	}
	for i := range 4 {
		s.Classes = append(s.Classes, g.priorityClass(fmt.Sprintf("c%d", i)))
	}
	for _, ns := range quotaNamespaces {
		if g.chance(0.3) {
			s.Budget = append(s.Budget, g.budget(ns, "x"), g.budget(ns, "y"))
		}
	}
	start := time.Unix(1700000000, 0)
	for i := range 1 + g.IntN(4) {
		node := g.quotaNode(fmt.Sprintf("n%d", i))
		s.Nodes = append(s.Nodes, node)
		for range 1 + g.IntN(9) {
			index := len(s.Placed) + 1
			pod := g.toleratingPod(fmt.Sprintf("p%02d", index), node.Name, start)
			// All start times differ: kube-scheduler's order of equally important pods is undefined.
			started := metav1.NewTime(start.Add(time.Duration(g.IntN(1000)*100+index) * time.Second))
			pod.Status.StartTime = &started
			s.Placed = append(s.Placed, pod)
		}
	}
	s.Pod = g.quotaPod("new", "")
	if g.chance(0.8) {
		*s.Pod.Spec.Priority += 3
	}
	if g.chance(0.05) {
		never := v1.PreemptNever
		s.Pod.Spec.PreemptionPolicy = &never
	}
	return s
}

func (g generator) priorityClass(name string) *schedulingv1.PriorityClass {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(g.IntN(6))}
	class.TypeMeta = metav1.TypeMeta{Kind: "PriorityClass", APIVersion: "scheduling.k8s.io/v1"}
	class.Annotations = map[string]string{}
	if g.chance(0.85) {
		class.Annotations[preemptiontoleration.AnnotationKeyMinimumPreemptablePriority] = pick(g,
			strconv.Itoa(g.IntN(9)), strconv.Itoa(g.IntN(9)), strconv.Itoa(g.IntN(9)), "+5", "-2", "x", "", "2147483648")
	}
	if g.chance(0.85) {
		class.Annotations[preemptiontoleration.AnnotationKeyTolerationSeconds] = pick(g,
			"-1", "-1", "0", "60", "3000000000", "3000000000", "1h")
	}
	return class
}

// toleratingPod creates a pod on a node. Few name a class that does not exist.
func (g generator) toleratingPod(name, node string, start time.Time) *v1.Pod {
	pod := g.quotaPod(name, node)
	if g.chance(0.75) {
		pod.Spec.PriorityClassName = pick(g, "c0", "c1", "c2", "c3")
	} else if g.chance(0.25) {
		pod.Spec.PriorityClassName = "missing"
	}
	if g.chance(0.9) {
		status := v1.ConditionTrue
		if g.chance(0.05) {
			status = v1.ConditionFalse
		}
		pod.Status.Conditions = []v1.PodCondition{{
			Type: v1.PodScheduled, Status: status, LastTransitionTime: metav1.NewTime(start.Add(time.Duration(g.IntN(100000)) * time.Second)),
		}}
	}
	return pod
}
