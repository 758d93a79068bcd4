package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// ExtenderError is a failure of an extender that did not end the attempt.
type ExtenderError struct {
	Extender string `json:"extender"`
	Verb     string `json:"verb"`
	Error    string `json:"error"`
}

// listener is an extender of kube-scheduler that also records its replies.
type listener struct {
	fwk.Extender
	verbs map[string]string
	// reviewed are the candidates after the preempt call; nil without a successful call.
	reviewed *map[string]*extenderv1.Victims
	errors   *[]ExtenderError
}

func (l *listener) ProcessPreemption(pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	result, err := l.Extender.ProcessPreemption(pod, victims, nodes)
	if err != nil {
		if l.IsIgnorable() {
			l.note("preempt", err)
		}
		return result, err
	}
	left := make(map[string]*extenderv1.Victims)
	for node, on := range result {
		if len(on.Pods) > 0 {
			left[node] = on
		}
	}
	*l.reviewed = left
	return result, nil
}

func (l *listener) note(action string, err error) {
	*l.errors = append(*l.errors, ExtenderError{Extender: l.Name(), Verb: l.verbs[action], Error: err.Error()})
}

// listen replaces the extenders by listeners, for the scheduler and for its plugins: both use the same slice.
func (c *Cluster) listen() {
	for i, extender := range c.scheduler.Extenders {
		verbs := make(map[string]string)
		for _, config := range c.extenders {
			if config.URLPrefix == extender.Name() {
				verbs = map[string]string{"filter": config.FilterVerb, "prioritize": config.PrioritizeVerb, "preempt": config.PreemptVerb}
			}
		}
		c.scheduler.Extenders[i] = &listener{Extender: extender, verbs: verbs, reviewed: &c.reviewed, errors: &c.extenderErrors}
	}
}

// passExtenders does the same as kube-scheduler's findNodesThatPassExtenders, and records which extender removed which
// nodes without a reason.
func (c *cycle) passExtenders(nodes []fwk.NodeInfo) ([]fwk.NodeInfo, error) {
	for _, extender := range c.scheduler.Extenders {
		if len(nodes) == 0 {
			break
		}
		if !extender.IsInterested(c.pod) {
			continue
		}
		left, failed, unresolvable, err := extender.Filter(c.pod, nodes)
		if err != nil {
			if extender.IsIgnorable() {
				extender.(*listener).note("filter", err)
				continue
			}
			return nil, err
		}
		for node, why := range unresolvable {
			c.diagnosis.NodeToStatus.Set(node, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why))
		}
		for node, why := range failed {
			if _, both := unresolvable[node]; !both {
				c.diagnosis.NodeToStatus.Set(node, fwk.NewStatus(fwk.Unschedulable, why))
			}
		}
		for _, node := range nodes {
			name := node.Node().Name
			if !slices.ContainsFunc(left, func(n fwk.NodeInfo) bool { return n.Node().Name == name }) {
				c.leftOutBy[name] = extender.Name()
			}
		}
		nodes = left
	}
	return nodes, nil
}

// addContributions adds the scores of extenders to those of the plugins. Among equal nodes, those with an extender
// score are preferred.
func (c *cycle) addContributions(feasible []fwk.NodeInfo, scores []fwk.NodePluginScores) (answered map[string]bool) {
	answered = make(map[string]bool)
	c.contributions = make(map[string]map[string]int64)
	var scorers []string
	for _, extender := range c.scheduler.Extenders {
		if !extender.IsInterested(c.pod) {
			continue
		}
		list, weight, err := extender.Prioritize(c.pod, feasible)
		if err != nil {
			extender.(*listener).note("prioritize", err)
			continue
		}
		if extender.IsPrioritizer() {
			scorers = append(scorers, extender.Name())
		}
		for _, one := range *list {
			answered[one.Host] = true
			for i := range scores {
				if scores[i].Name != one.Host {
					continue
				}
				contribution := one.Score * weight * (fwk.MaxNodeScore / extenderv1.MaxExtenderPriority)
				scores[i].TotalScore += contribution
				if c.contributions[one.Host] == nil {
					c.contributions[one.Host] = make(map[string]int64)
				}
				if extender.IsPrioritizer() {
					c.contributions[one.Host][extender.Name()] += contribution
				}
			}
		}
	}
	if len(scorers) == 0 {
		c.contributions = nil
		return answered
	}
	for _, score := range scores {
		if c.contributions[score.Name] == nil {
			c.contributions[score.Name] = make(map[string]int64)
		}
		for _, name := range scorers {
			c.contributions[score.Name][name] += 0
		}
	}
	return answered
}

// rejectedSilently is the verdict on a node that an extender left out without a reason: kube-scheduler has no status
// for it.
func rejectedSilently(node, extender string) NodeVerdict {
	return NodeVerdict{Name: node, Code: fwk.UnschedulableAndUnresolvable.String(), Plugin: framework.ExtenderName,
		Reasons: []string{fmt.Sprintf("rejected by extender %s without reason", extender)}}
}
