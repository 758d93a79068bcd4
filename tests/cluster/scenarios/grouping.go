package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

// grouping contains scenarios with pod groups.
func grouping() []*scenario {
	return []*scenario{
		{name: "a gang whose members all fit", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 3)
			s.members("g", []string{"a", "b", "c"})
			s.bound("a", "b", "c")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
		{name: "a gang waits for its members", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2)
			s.members("g", []string{"a"})
			s.pause(2 * time.Second)
			s.unbound("a")
			s.members("g", []string{"b"})
			s.bound("a", "b")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
		{name: "members that exist before their group", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.members("g", []string{"a", "b"})
			s.pause(2 * time.Second)
			s.unbound("a")
			s.gang("g", 2)
			s.bound("a", "b")
		}},
		{name: "minCount is lowered", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 3)
			s.members("g", []string{"a", "b"})
			s.pause(2 * time.Second)
			s.unbound("a")
			s.patchGroup("g", `[{"op":"replace","path":"/spec/schedulingPolicy/gang/minCount","value":2}]`)
			s.bound("a", "b")
		}},
		{name: "a member that arrives after the others", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2)
			s.members("g", []string{"a", "b"})
			s.bound("a", "b")
			s.members("g", []string{"c"})
			s.bound("c")
		}},
		{name: "members of a group with basic policy", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.basicGroup("g")
			s.members("g", []string{"a"})
			s.bound("a")
			s.members("g", []string{"b"})
			s.bound("b")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
		{name: "a gang that fits after a node was added", anyNomination: true, uncounted: true, seconds: 12, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2)
			s.pod("a", inGroup("g"), asking("cpu", "3"))
			s.pod("b", inGroup("g"), asking("cpu", "3"))
			s.refused("b", "")
			s.reportGroup("g", metav1.ConditionFalse)
			s.node("n-2", allocatable("cpu", "7")) // the best node for the first member, the other one for the second
			s.bound("a", "b")
		}},
		{name: "a pod takes the node that a gang cannot use", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2)
			s.pod("a", inGroup("g"), asking("cpu", "3"))
			s.pod("b", inGroup("g"), asking("cpu", "3"))
			s.refused("b", "")
			s.pod("single", asking("cpu", "3"))
			s.bound("single")
			s.unbound("a")
		}},
		{name: "a member with another priority", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 2)
			s.pod("a", inGroup("g"), class("high"))
			s.pod("b", inGroup("g"), class("high"))
			s.refused("b", "the same priority")
			s.reportGroup("g", metav1.ConditionFalse)
		}, uncounted: true},
		{name: "a gang evicts pods of lower priority", seconds: 4, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.gang("g", 2, important)
			s.members("g", []string{"a", "b"}, class("high"), asking("cpu", "2"))
			s.bound("a", "b")
			s.reportGroup("g", metav1.ConditionTrue)
		}},
		{name: "a gang spares the more important victims", seconds: 4, run: func(s *stage) {
			s.node("n-1")
			s.pod("keeper", atOnce, class("middle"), asking("cpu", "1"))
			s.bound("keeper")
			s.pod("oldest", atOnce, class("low"), asking("cpu", "1"))
			s.bound("oldest")
			s.pod("large", atOnce, class("low"), asking("cpu", "2"))
			s.bound("large")
			s.gang("g", 2, important)
			s.members("g", []string{"a", "b"}, class("high"), asking("cpu", "1"))
			s.bound("a", "b")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a gang evicts a group that is disrupted as a whole", seconds: 4, run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.gang("victims", 2, asAUnit)
			s.members("victims", []string{"v1"}, lowPriority, selecting("place", "1"))
			s.members("victims", []string{"v2"}, lowPriority, selecting("place", "2"))
			s.bound("v1", "v2")
			s.gang("g", 1, important)
			s.members("g", []string{"a"}, class("high"), asking("cpu", "3"), selecting("place", "1"))
			s.bound("a")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a gang whose members never preempt", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.gang("g", 1, func(spec *schedulingv1beta1.PodGroupSpec) { spec.PriorityClassName = "polite" })
			s.members("g", []string{"a"}, class("polite"), asking("cpu", "3"))
			s.refused("a", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "a gang that does not fit even without its victims", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.gang("g", 2, important)
			s.members("g", []string{"a", "b"}, class("high"), asking("cpu", "3"))
			s.refused("a", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "a victim of a gang has anti-affinity to it", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("hostile", atOnce, class("low"), withAntiAffinity("gang", "kubernetes.io/hostname"))
			s.bound("hostile")
			s.gang("g", 1, important)
			s.members("g", []string{"a"}, class("high"), withLabel("app", "gang"))
			s.refused("a", "")
			s.reportGroup("g", metav1.ConditionFalse)
		}},
		{name: "a pod evicts a group that is disrupted as a whole", seconds: 3, run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.gang("victims", 2, asAUnit)
			s.members("victims", []string{"v1"}, lowPriority, selecting("place", "1"))
			s.members("victims", []string{"v2"}, lowPriority, selecting("place", "2"))
			s.bound("v1", "v2")
			s.pod("urgent", class("high"), asking("cpu", "3"), selecting("place", "1"))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a pod spares members of a group before other pods", seconds: 3, run: func(s *stage) {
			s.node("n-1")
			s.pod("older", atOnce, class("low"), asking("cpu", "2"))
			s.bound("older")
			s.gang("victims", 1, func(spec *schedulingv1beta1.PodGroupSpec) { spec.PriorityClassName = "low" })
			s.members("victims", []string{"member"}, atOnce, class("low"), asking("cpu", "2"))
			s.bound("member")
			s.pod("urgent", class("high"), asking("cpu", "2"))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "pods without a group beside a gang", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 3)
			s.members("g", []string{"a", "b"})
			s.pod("single")
			s.bound("single")
			s.members("g", []string{"c"})
			s.bound("a", "b", "c")
		}},
	}
}

func inGroup(name string) podOption {
	return func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }
}

// members creates pods of a group in this order.
func (s *stage) members(group string, names []string, options ...podOption) {
	for _, name := range names {
		s.pod(name, append([]podOption{inGroup(group)}, options...)...)
	}
}

type groupOption func(*schedulingv1beta1.PodGroupSpec)

func important(spec *schedulingv1beta1.PodGroupSpec) { spec.PriorityClassName = "high" }

// asAUnit makes a group of low priority whose members are evicted together.
func asAUnit(spec *schedulingv1beta1.PodGroupSpec) {
	spec.PriorityClassName = "low"
	spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
}

func (s *stage) gang(name string, minCount int32, options ...groupOption) {
	s.createGroup(name, schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}, options...)
}

func (s *stage) basicGroup(name string) {
	s.createGroup(name, schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}})
}

func (s *stage) createGroup(name string, policy schedulingv1beta1.PodGroupSchedulingPolicy, options ...groupOption) {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns},
		Spec:       schedulingv1beta1.PodGroupSpec{SchedulingPolicy: policy},
	}
	for _, option := range options {
		option(&group.Spec)
	}
	created, err := s.client.SchedulingV1beta1().PodGroups(s.ns).Create(s.ctx, group, metav1.CreateOptions{})
	s.must(err)
	s.nameGroup(created.UID, name)
}

// nameGroup lets texts of the outcome contain a group's name in place of its UID, and waits until a scheduler has noticed
// the new group.
func (s *stage) nameGroup(uid types.UID, name string) {
	if s.groups == nil {
		s.groups = make(map[types.UID]string)
	}
	s.groups[uid] = name
	s.pause(noticed)
}

// patchGroup applies a JSON patch to a group.
func (s *stage) patchGroup(name, patch string) {
	_, err := s.client.SchedulingV1beta1().PodGroups(s.ns).Patch(s.ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// unbound requires that the pod has no node now.
func (s *stage) unbound(name string) {
	if node := s.history(name).node; node != "" {
		controlplane.Must(fmt.Errorf("pod %s is bound to %s", name, node))
	}
}

// reportGroup waits for the status of the group's condition and adds the condition to the outcome.
func (s *stage) reportGroup(name string, status metav1.ConditionStatus) {
	var condition *metav1.Condition
	s.until(fmt.Sprintf("group %s is initially scheduled: %s", name, status), func() bool {
		group, err := s.client.SchedulingV1beta1().PodGroups(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		s.must(err)
		condition = meta.FindStatusCondition(group.Status.Conditions, "PodGroupInitiallyScheduled")
		return condition != nil && condition.Status == status
	})
	s.report("group %s: %s %s generation %d %q", name, condition.Status, condition.Reason, condition.ObservedGeneration, condition.Message)
}
