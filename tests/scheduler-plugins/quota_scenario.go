package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

const gpu = v1.ResourceName("example.com/gpu")

var quotaNamespaces = []string{"a", "b", "c", "d"}

// generateQuotas creates small, nearly full nodes, quotas with small amounts, and a pod.
func generateQuotas(seed uint64) *preemptionScenario {
	g := generator{rand.New(rand.NewPCG(seed, 29))}
	s := &preemptionScenario{
		Seed: seed, Quotas: []*v1alpha1.ElasticQuota{}, Placed: []*v1.Pod{},
		Budget: []*policyv1.PodDisruptionBudget{}, Nominated: []*v1.Pod{},
	}
	// With large minimums mostly the nodes are full, with small ones mostly the quotas.
	scale := pick(g, int64(1), 2, 3)
	for _, ns := range quotaNamespaces {
		if g.chance(0.8) {
			s.Quotas = append(s.Quotas, g.quota(ns, scale))
		}
		if g.chance(0.3) {
			s.Budget = append(s.Budget, g.budget(ns, "x"), g.budget(ns, "y"))
		}
	}
	// All start times differ: kube-scheduler's order of equally important pods is undefined.
	start := time.Unix(1700000000, 0)
	pods := 0
	pod := func(node string) *v1.Pod {
		pods++
		created := g.quotaPod(fmt.Sprintf("p%02d", pods), node)
		started := metav1.NewTime(start.Add(time.Duration(g.IntN(1000)*100+pods) * time.Second))
		created.Status.StartTime = &started
		return created
	}
	for i := range 1 + g.IntN(4) {
		node := g.quotaNode(fmt.Sprintf("n%d", i))
		s.Nodes = append(s.Nodes, node)
		for range 1 + g.IntN(9) {
			placed := pod(node.Name)
			if g.chance(0.06) {
				now := metav1.NewTime(start)
				placed.DeletionTimestamp = &now
			}
			s.Placed = append(s.Placed, placed)
		}
		if g.chance(0.12) {
			nominated := pod("")
			nominated.Status.NominatedNodeName = node.Name
			nominated.Status.StartTime = nil
			s.Nominated = append(s.Nominated, nominated)
		}
	}
	s.Pod = g.quotaPod("new", "")
	if g.chance(0.6) {
		*s.Pod.Spec.Priority += 3
	}
	if g.chance(0.05) {
		never := v1.PreemptNever
		s.Pod.Spec.PreemptionPolicy = &never
	}
	if g.chance(0.15) {
		s.Pod.Status.NominatedNodeName = pick(g, "n0", "n1", "gone")
	}
	return s
}

func (g generator) quota(ns string, scale int64) *v1alpha1.ElasticQuota {
	quota := &v1alpha1.ElasticQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota", Namespace: ns}}
	quota.TypeMeta = metav1.TypeMeta{Kind: "ElasticQuota", APIVersion: "scheduling.x-k8s.io/v1alpha1"}
	least := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(500*scale*g.Int64N(16), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(scale*g.Int64N(16)<<30, resource.BinarySI),
	}
	most := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(4000+500*g.Int64N(24), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity((8+g.Int64N(24))<<30, resource.BinarySI),
	}
	if g.chance(0.5) {
		least[gpu] = *resource.NewQuantity(scale*g.Int64N(4), resource.DecimalSI)
	}
	if g.chance(0.5) {
		most[gpu] = *resource.NewQuantity(g.Int64N(6), resource.DecimalSI)
	}
	if g.chance(0.1) {
		delete(least, pick(g, v1.ResourceCPU, v1.ResourceMemory))
	}
	if g.chance(0.1) {
		delete(most, pick(g, v1.ResourceCPU, v1.ResourceMemory))
	}
	if !g.chance(0.05) {
		quota.Spec.Min = least
	}
	if !g.chance(0.1) {
		quota.Spec.Max = most
	}
	return quota
}

func (g generator) budget(ns, app string) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "budget-" + app, Namespace: ns}}
	budget.TypeMeta = metav1.TypeMeta{Kind: "PodDisruptionBudget", APIVersion: "policy/v1"}
	key := pick(g, "app", "tier")
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: app}}
	budget.Status.DisruptionsAllowed = int32(g.IntN(3))
	return budget
}

func (g generator) quotaNode(name string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(5+g.Int64N(6), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity((4+g.Int64N(16))<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(pick(g, int64(4), 6, 110), resource.DecimalSI),
	}
	// Every node is large enough for any pod: Kubernetes 1.33 evicts pods from others in vain, later releases do not.
	node.Status.Allocatable[gpu] = *resource.NewQuantity(3+g.Int64N(3), resource.DecimalSI)
	node.Status.Capacity = node.Status.Allocatable
	return node
}

func (g generator) quotaPod(name, node string) *v1.Pod {
	ns := pick(g, quotaNamespaces...)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, UID: types.UID("uid-of-" + name)}}
	pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	if g.chance(0.7) {
		pod.Labels = map[string]string{"app": pick(g, "x", "y"), "tier": pick(g, "x", "y")}
	}
	priority := int32(g.IntN(5))
	pod.Spec.Priority = &priority
	pod.Spec.NodeName = node
	pod.Spec.SchedulerName = "default-scheduler"
	pod.Status.Phase = v1.PodPending
	if node != "" {
		pod.Status.Phase = v1.PodRunning
	}
	for i := range 1 + g.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.quotaContainer(fmt.Sprintf("c%d", i)))
	}
	if g.chance(0.15) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, g.quotaContainer("i"))
	}
	if g.chance(0.1) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(250, resource.DecimalSI)}
	}
	return pod
}

func (g generator) quotaContainer(name string) v1.Container {
	requests := v1.ResourceList{}
	if g.chance(0.9) {
		requests[v1.ResourceCPU] = *resource.NewMilliQuantity(250*g.Int64N(10), resource.DecimalSI)
	}
	if g.chance(0.5) {
		requests[v1.ResourceMemory] = *resource.NewQuantity(g.Int64N(4)<<29, resource.BinarySI)
	}
	if g.chance(0.2) {
		requests[gpu] = *resource.NewQuantity(g.Int64N(2), resource.DecimalSI)
	}
	return v1.Container{Name: name, Image: "registry.example/app", Resources: v1.ResourceRequirements{Requests: requests}}
}
