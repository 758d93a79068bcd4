package main

import (
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// groupingInTrees contains scenarios with composite pod groups, and with preemption policies of groups. kube-scheduler
// writes conditions of pod groups only: a composite group has none. Its binding cycles of several gangs begin in a random
// order, so the member that does not wait for the others, and gets no nomination, varies. A gang that is bound while another
// one of its tree is retried at once has a condition that varies in kube-scheduler: with an outdated view of the gang the
// second cycle writes False over True.
func groupingInTrees() []*scenario {
	return []*scenario{
		{name: "a tree whose members all fit", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.gang("g2", 2, under("t"))
			s.members("g1", []string{"a", "b"})
			s.members("g2", []string{"c", "d"})
			s.bound("a", "b", "c", "d")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
			s.reportTrees("t")
		}},
		{name: "a tree without room for its second gang", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.gang("g2", 2, under("t"))
			s.members("g1", []string{"a", "b"}, asking("cpu", "1500m"))
			s.members("g2", []string{"c", "d"}, asking("cpu", "1500m"))
			s.refused("a", "")
			s.refused("c", "")
			s.refused("d", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
			s.reportTrees("t")
			s.unbound("a")
			s.unbound("b")
		}},
		{name: "a tree without room for its first gang", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.gang("g2", 2, under("t"))
			s.members("g1", []string{"a", "b"}, asking("cpu", "3"))
			s.members("g2", []string{"c", "d"})
			s.refused("a", "")
			s.refused("c", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
			s.unbound("c")
		}},
		{name: "a tree that needs one of its two gangs", uncounted: true, anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.members("g1", []string{"a", "b"}, asking("cpu", "1500m"))
			s.members("g2", []string{"c", "d"}, asking("cpu", "1500m"))
			s.gang("g1", 2, under("t"))
			s.gang("g2", 2, under("t"))
			s.tree("t", 1)
			s.bound("a", "b")
			s.refused("d", "")
			s.pause(retried)
			s.reportGroups(metav1.ConditionFalse, "g2")
			s.unbound("c")
		}},
		{name: "the second gang of a tree fits after a node was added", uncounted: true, seconds: 12, anyNomination: true, run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a", "b"}, asking("cpu", "2"), selecting("place", "1"))
			s.members("g2", []string{"c"}, asking("cpu", "3"))
			s.refused("c", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
			s.node("n-2")
			s.bound("a", "b", "c")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a tree with basic policy binds what fits", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.members("g1", []string{"a"}, asking("cpu", "5"))
			s.members("g2", []string{"b"}, asking("cpu", "3"))
			s.gang("g1", 1, under("t"))
			s.gang("g2", 1, under("t"))
			s.basicTree("t")
			s.bound("b")
			s.refused("a", "")
			s.pause(retried)
			s.reportGroups(metav1.ConditionFalse, "g1")
		}},
		{name: "a tree of trees", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("root", 2)
			s.tree("left", 2, childOf("root"))
			s.tree("right", 1, childOf("root"))
			s.gang("g1", 1, under("left"))
			s.gang("g2", 2, under("left"))
			s.gang("g3", 1, under("right"))
			s.members("g1", []string{"a"})
			s.members("g2", []string{"b", "c"})
			s.members("g3", []string{"d"})
			s.bound("a", "b", "c", "d")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2", "g3")
			s.reportTrees("root", "left", "right")
		}},
		{name: "a tree of trees one of whose gangs does not fit", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("root", 2)
			s.tree("left", 2, childOf("root"))
			s.tree("right", 1, childOf("root"))
			s.gang("g1", 1, under("left"))
			s.gang("g2", 2, under("left"))
			s.gang("g3", 1, under("right"))
			s.members("g1", []string{"a"})
			s.members("g2", []string{"b", "c"})
			s.members("g3", []string{"d"}, asking("cpu", "5"))
			s.refused("a", "")
			s.refused("d", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2", "g3")
			s.reportTrees("root", "left", "right")
		}},
		{name: "a tree waits for the last member", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.gang("g2", 2, under("t"))
			s.members("g1", []string{"a", "b"})
			s.members("g2", []string{"c"})
			s.pause(2 * noticed)
			s.unbound("a")
			s.members("g2", []string{"d"})
			s.bound("a", "b", "c", "d")
		}},
		{name: "a gang of a tree is missing at first", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 2, under("t"))
			s.members("g1", []string{"a", "b"})
			s.members("g2", []string{"c"})
			s.pause(2 * noticed)
			s.unbound("a")
			s.unbound("c")
			s.gang("g2", 1, under("t"))
			s.bound("a", "b", "c")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
		}},
		{name: "the composite group is missing at first", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g1", 2, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a", "b"})
			s.members("g2", []string{"c"})
			s.pause(2 * noticed)
			s.unbound("a")
			s.unbound("c")
			s.tree("t", 2)
			s.bound("a", "b", "c")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
		}},
		{name: "a member that arrives after its tree", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 1, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a"})
			s.members("g2", []string{"b"})
			s.bound("a", "b")
			s.members("g2", []string{"c"})
			s.bound("c")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
		}},
		{name: "a gang that arrives after its tree", run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 1)
			s.gang("g1", 1, under("t"))
			s.members("g1", []string{"a"})
			s.bound("a")
			s.gang("g2", 2, under("t"))
			s.members("g2", []string{"b", "c"})
			s.bound("b", "c")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
		}},
		{name: "a pod takes the node that a tree cannot use", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 2)
			s.gang("g1", 1, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a"}, asking("cpu", "3"))
			s.members("g2", []string{"b"}, asking("cpu", "3"))
			s.refused("b", "")
			s.pod("single", asking("cpu", "3"))
			s.bound("single")
			s.unbound("a")
		}},
		{name: "a tree goes to the rack with room for it", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("b-1", labelled("rack", "b"))
			s.node("b-2", labelled("rack", "b"), allocatable("cpu", "7"))
			s.tree("t", 2, treeByRack)
			s.gang("g1", 1, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a"}, asking("cpu", "3500m"))
			s.members("g2", []string{"b"}, asking("cpu", "3500m"))
			s.bound("a", "b")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a tree that fits into none of two racks", uncounted: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("b-1", labelled("rack", "b"))
			s.tree("t", 2, treeByRack)
			s.gang("g1", 1, under("t"))
			s.gang("g2", 1, under("t"))
			s.members("g1", []string{"a"}, asking("cpu", "3"))
			s.members("g2", []string{"b"}, asking("cpu", "3"))
			s.refused("b", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
		}},
		{name: "each gang of a tree goes to one rack", anyNomination: true, run: func(s *stage) {
			s.node("a-1", labelled("rack", "a"))
			s.node("b-1", labelled("rack", "b"), allocatable("cpu", "5"))
			s.tree("t", 2)
			s.gang("g1", 2, under("t"), byRack)
			s.gang("g2", 2, under("t"), byRack)
			s.members("g1", []string{"a", "b"}, asking("cpu", "2500m"))
			s.members("g2", []string{"c", "d"}, asking("cpu", "2"))
			s.bound("a", "b", "c", "d")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a tree evicts pods of lower priority", anyNomination: true, seconds: 4, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.tree("t", 2, importantTree)
			s.gang("g1", 1, under("t"), important)
			s.gang("g2", 1, under("t"), important)
			s.members("g1", []string{"a"}, class("high"), asking("cpu", "2"))
			s.members("g2", []string{"b"}, class("high"), asking("cpu", "2"))
			s.bound("a", "b")
			s.reportGroups(metav1.ConditionTrue, "g1", "g2")
		}},
		{name: "a tree that does not fit even without its victims", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.tree("t", 2, importantTree)
			s.gang("g1", 1, under("t"), important)
			s.gang("g2", 1, under("t"), important)
			s.members("g1", []string{"a"}, class("high"), asking("cpu", "3"))
			s.members("g2", []string{"b"}, class("high"), asking("cpu", "3"))
			s.refused("a", "")
			s.refused("b", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
		}},
		{name: "a tree evicts a tree that is disrupted as a whole", anyNomination: true, seconds: 4, run: func(s *stage) {
			s.victimTree()
			s.tree("t", 1, importantTree)
			s.gang("g1", 1, under("t"), important)
			s.members("g1", []string{"a"}, class("high"), asking("cpu", "3"), selecting("place", "1"))
			s.bound("a")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a pod evicts a tree that is disrupted as a whole", anyNomination: true, seconds: 3, run: func(s *stage) {
			s.victimTree()
			s.pod("urgent", class("high"), asking("cpu", "3"), selecting("place", "1"))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}},
		{name: "a tree that never preempts", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.tree("t", 2, func(spec *schedulingv1alpha3.CompositePodGroupSpec) {
				never := schedulingv1alpha3.PreemptNever
				spec.PriorityClassName, spec.PreemptionPolicy = "polite", &never
			})
			s.gang("g1", 1, under("t"), polite)
			s.gang("g2", 1, under("t"), polite)
			s.members("g1", []string{"a"}, class("polite"), asking("cpu", "2"))
			s.members("g2", []string{"b"}, class("polite"), asking("cpu", "2"))
			s.refused("a", "")
			s.refused("b", "")
			s.reportGroups(metav1.ConditionFalse, "g1", "g2")
		}},
		// One member: kube-scheduler compares the members in a random order.
		{name: "a member with another priority than its tree", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 1, importantTree)
			s.gang("g1", 1, under("t"), important)
			s.members("g1", []string{"a"}, class("low"))
			s.refused("a", "the same priority")
			s.reportGroups(metav1.ConditionFalse, "g1")
		}},
		{name: "a gang that never preempts", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.gang("g", 1, polite)
			s.members("g", []string{"a"}, class("polite"), asking("cpu", "3"))
			s.refused("a", "")
			s.reportGroups(metav1.ConditionFalse, "g")
		}},
		{name: "a member with another preemption policy than its gang", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.gang("g", 1, important)
			s.members("g", []string{"a"}, class("polite"))
			s.refused("a", "preemption policy")
			s.reportGroups(metav1.ConditionFalse, "g")
		}},
		{name: "a member with another preemption policy than its tree", uncounted: true, run: func(s *stage) {
			s.node("n-1")
			s.tree("t", 1, importantTree)
			s.gang("g1", 1, under("t"), important)
			s.members("g1", []string{"a"}, class("polite"))
			s.refused("a", "preemption policy")
			s.reportGroups(metav1.ConditionFalse, "g1")
		}},
	}
}

// retried is the time after which the members that were left over have been tried again; the condition of their gang then
// has the text of preemption, too.
const retried = time.Second

// victimTree binds a tree of low priority with one member on each of two nodes, whose members are evicted together.
func (s *stage) victimTree() {
	s.node("n-1", labelled("place", "1"))
	s.node("n-2", labelled("place", "2"))
	s.tree("victims", 2, func(spec *schedulingv1alpha3.CompositePodGroupSpec) {
		spec.PriorityClassName = "low"
		spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{All: &schedulingv1alpha3.AllCompositeDisruptionMode{}}
	})
	low := func(spec *schedulingv1beta1.PodGroupSpec) { spec.PriorityClassName = "low" }
	s.gang("first", 1, under("victims"), low)
	s.gang("second", 1, under("victims"), low)
	s.members("first", []string{"v1"}, lowPriority, selecting("place", "1"))
	s.members("second", []string{"v2"}, lowPriority, selecting("place", "2"))
	s.bound("v1", "v2")
}

// polite makes a group of class polite. The API server fills in the default policy before it compares the policy with the
// one of the class, so it must be set.
func polite(spec *schedulingv1beta1.PodGroupSpec) {
	never := schedulingv1beta1.PreemptNever
	spec.PriorityClassName, spec.PreemptionPolicy = "polite", &never
}

// under makes a pod group a child of a composite group. The schedulers do not read the workload.
func under(tree string) groupOption {
	return func(spec *schedulingv1beta1.PodGroupSpec) {
		spec.ParentCompositePodGroupName = &tree
		spec.WorkloadRef = &schedulingv1beta1.WorkloadReference{WorkloadName: "w", TemplateName: "group"}
	}
}

type treeOption func(*schedulingv1alpha3.CompositePodGroupSpec)

func importantTree(spec *schedulingv1alpha3.CompositePodGroupSpec) { spec.PriorityClassName = "high" }

func childOf(tree string) treeOption {
	return func(spec *schedulingv1alpha3.CompositePodGroupSpec) { spec.ParentCompositePodGroupName = &tree }
}

// treeByRack makes all members of a tree belong into one rack.
func treeByRack(spec *schedulingv1alpha3.CompositePodGroupSpec) {
	spec.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{
		Topology: []schedulingv1alpha3.TopologyConstraint{{Key: "rack"}}}
}

// tree creates a composite group of which this number of child groups must be scheduled.
func (s *stage) tree(name string, minGroupCount int32, options ...treeOption) {
	s.createTree(name, schedulingv1alpha3.CompositePodGroupSchedulingPolicy{
		Gang: &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: minGroupCount}}, options...)
}

func (s *stage) basicTree(name string) {
	s.createTree(name, schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}})
}

func (s *stage) createTree(name string, policy schedulingv1alpha3.CompositePodGroupSchedulingPolicy, options ...treeOption) {
	group := &schedulingv1alpha3.CompositePodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns},
		Spec: schedulingv1alpha3.CompositePodGroupSpec{
			WorkloadRef:      &schedulingv1alpha3.WorkloadReference{WorkloadName: "w", TemplateName: "tree"},
			SchedulingPolicy: policy,
		},
	}
	for _, option := range options {
		option(&group.Spec)
	}
	created, err := s.client.SchedulingV1alpha3().CompositePodGroups(s.ns).Create(s.ctx, group, metav1.CreateOptions{})
	s.must(err)
	s.nameGroup(created.UID, name)
}

// reportGroups waits until the conditions of all these groups have this status, and adds them to the outcome.
func (s *stage) reportGroups(status metav1.ConditionStatus, names ...string) {
	for _, name := range names {
		s.reportGroup(name, status)
	}
}

// reportTrees adds the conditions of composite groups to the outcome, which may have none.
func (s *stage) reportTrees(names ...string) {
	s.pause(noticed)
	for _, name := range names {
		group, err := s.client.SchedulingV1alpha3().CompositePodGroups(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		s.must(err)
		for _, condition := range group.Status.Conditions {
			s.report("composite group %s: %s %s %s %q", name, condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		if len(group.Status.Conditions) == 0 {
			s.report("composite group %s: no condition", name)
		}
	}
}
