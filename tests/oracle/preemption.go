package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// dryPreemption is DefaultPreemption with its own rules, except that it evaluates every node, records the victims, and
// evicts no pod.
type dryPreemption struct {
	*defaultpreemption.DefaultPreemption
	// found are the victims on every candidate node.
	found map[string]*extenderv1.Victims
	// forced is the node to choose, regardless of the rules; empty: by the rules.
	forced string
	// limit is the number of candidates at which kube-scheduler's search would have ended.
	limit int32
}

// tamePreemption disables the evictions of a profile's DefaultPreemption. Nil if the profile has none.
func tamePreemption(profile framework.Framework) (*dryPreemption, error) {
	enabled := profile.ListPlugins().PostFilter.Enabled
	if !slices.ContainsFunc(enabled, func(p config.Plugin) bool { return p.Name == defaultpreemption.Name }) {
		return nil, nil
	}
	for _, plugin := range profile.PreEnqueuePlugins() {
		if real, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			return tame(profile, real), nil
		}
	}
	return nil, fmt.Errorf("profile %s has DefaultPreemption at postFilter and not at preEnqueue, where the oracle intercepts it", profile.ProfileName())
}

func tame(profile framework.Framework, real *defaultpreemption.DefaultPreemption) *dryPreemption {
	dry := &dryPreemption{DefaultPreemption: real}
	// An executor without any feature runs in the caller's goroutine. It still calls the API to clear nominations; the
	// API has none of the pods, so nothing changes.
	executor := preemption.NewExecutor(profile, feature.Features{})
	executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) (bool, error) {
		return false, nil
	}
	real.Executor = executor
	real.Evaluator = preemption.NewEvaluator(defaultpreemption.Name, profile, dry, executor)
	real.Evaluator.PdbLister = sortedBudgets{real.Evaluator.PdbLister}
	// Equally important victims are ordered by name.
	moreImportant := real.MoreImportantVictim
	real.MoreImportantVictim = func(a, b preemption.Victim) bool {
		if moreImportant(a, b) || moreImportant(b, a) {
			return moreImportant(a, b)
		}
		return podKey(a.Pods()[0].GetPod()) < podKey(b.Pods()[0].GetPod())
	}
	return dry
}

// sortedBudgets lists the budgets by namespace and name. Their order matters if a pod matches several: the first
// violated one leaves the others unchanged. A lister has no order.
type sortedBudgets struct {
	policylisters.PodDisruptionBudgetLister
}

func (s sortedBudgets) List(selector labels.Selector) ([]*policyv1.PodDisruptionBudget, error) {
	budgets, err := s.PodDisruptionBudgetLister.List(selector)
	slices.SortFunc(budgets, func(a, b *policyv1.PodDisruptionBudget) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return budgets, err
}

func (d *dryPreemption) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, d.limit = d.DefaultPreemption.GetOffsetAndNumCandidates(nodes)
	return 0, nodes
}

func (d *dryPreemption) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, preemptor *v1.Pod, node fwk.NodeInfo,
	possible []*preemption.DomainVictim, budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, status := d.DefaultPreemption.SelectVictimsOnNode(ctx, state, preemptor, node, possible, budgets)
	if status.IsSuccess() && len(pods) > 0 {
		d.found[node.Node().Name] = &extenderv1.Victims{Pods: pods, NumPDBViolations: int64(violations)}
	}
	return pods, violations, status
}

func (d *dryPreemption) OrderedScoreFuncs(ctx context.Context, nodes map[string]*extenderv1.Victims) []func(string) int64 {
	if d.forced == "" {
		return d.DefaultPreemption.OrderedScoreFuncs(ctx, nodes)
	}
	return []func(string) int64{func(node string) int64 {
		if node == d.forced {
			return 1
		}
		return 0
	}}
}

// postFilter runs PostFilter for an unschedulable pod, like the scheduler.
func (c *cycle) postFilter() (message string, nomination *Nomination, err error) {
	if !c.profile.HasPostFilterPlugins() {
		return "", nil, nil
	}
	dry := c.preemption[c.pod.Spec.SchedulerName]
	errorsBefore := slices.Clone(c.extenderErrors)
	ask := func(forced string) (node, message string) {
		if dry != nil {
			dry.found, dry.forced = make(map[string]*extenderv1.Victims), forced
		}
		c.reviewed, c.extenderErrors = nil, slices.Clone(errorsBefore)
		result, status := c.profile.RunPostFilterPlugins(c.ctx, c.state, c.pod, c.diagnosis.NodeToStatus)
		if status.IsSuccess() && result != nil && result.NominatingInfo != nil {
			node = result.NominatingInfo.NominatedNodeName
		}
		if dry != nil && c.reviewed != nil {
			dry.found = c.reviewed
		}
		return node, status.Message()
	}
	node, message := ask("")
	if node == "" {
		return message, nil, nil
	}
	choices := equalBest(dry.found)
	c.record.candidates = &candidateSet{victims: dry.found, limit: int(dry.limit)}
	if !slices.Contains(choices, node) {
		return "", nil, fmt.Errorf("preemption chooses node %s, which is not among the best: %v (%s)", node, choices, message)
	}
	if node != choices[0] {
		if node, message = ask(choices[0]); node != choices[0] {
			return "", nil, fmt.Errorf("preemption chooses node %q instead of %s", node, choices[0])
		}
	}
	return message, &Nomination{Node: node, Victims: victimNames(dry.found[node]), Choices: choices}, nil
}

// candidateSet are all candidates of a preemption, and the number of them at which kube-scheduler's search ends. It
// searches the nodes in any order.
type candidateSet struct {
	victims map[string]*extenderv1.Victims
	limit   int
}

// allows returns whether a search can have ended with this nomination: the other candidates that it has found are worse.
func (s *candidateSet) allows(n *Nomination) bool {
	if !slices.Contains(n.Choices, n.Node) || s.victims[n.Node] == nil || !slices.Equal(victimNames(s.victims[n.Node]), n.Victims) {
		return false
	}
	worse := 0
	for node, victims := range s.victims {
		best := equalBest(map[string]*extenderv1.Victims{n.Node: s.victims[n.Node], node: victims})
		if slices.Contains(n.Choices, node) != slices.Contains(best, node) && slices.Contains(n.Choices, node) {
			return false
		}
		if !slices.Contains(best, node) {
			worse++
		}
	}
	if s.victims[n.Node].NumPDBViolations > 0 {
		// The search does not end before it has found a candidate without violations.
		return slices.Equal(n.Choices, equalBest(s.victims))
	}
	return len(n.Choices)+worse >= min(s.limit, len(s.victims))
}

func victimNames(victims *extenderv1.Victims) []string {
	var names []string
	for _, pod := range victims.Pods {
		names = append(names, podKey(pod))
	}
	slices.Sort(names)
	return names
}

// equalBest are the nodes among which the selection rules choose at random, by name. The plugin itself returns only one
// of them.
func equalBest(found map[string]*extenderv1.Victims) []string {
	var best []string
	for node := range found {
		best = append(best, node)
	}
	slices.Sort(best)
	// The smaller the better, one rule after another.
	rules := []func(v *extenderv1.Victims) int64{
		func(v *extenderv1.Victims) int64 { return v.NumPDBViolations },
		func(v *extenderv1.Victims) int64 { return int64(corev1helpers.PodPriority(v.Pods[0])) },
		func(v *extenderv1.Victims) (sum int64) {
			for _, pod := range v.Pods {
				sum += int64(corev1helpers.PodPriority(pod)) + 1<<31
			}
			return sum
		},
		func(v *extenderv1.Victims) int64 { return int64(len(v.Pods)) },
		func(v *extenderv1.Victims) int64 { return -util.GetEarliestPodStartTime(v).UnixNano() },
	}
	for _, rule := range rules {
		least := rule(found[best[0]])
		for _, node := range best {
			least = min(least, rule(found[node]))
		}
		best = slices.DeleteFunc(best, func(node string) bool { return rule(found[node]) != least })
	}
	return best
}
