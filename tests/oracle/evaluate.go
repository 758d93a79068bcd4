package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// evaluate runs a scheduling cycle for one pod and records all results.
func (c *Cluster) evaluate(pod *v1.Pod) *Record {
	record := &Record{Pod: podKey(pod), SchedulerName: pod.Spec.SchedulerName}
	profile, ours := c.scheduler.Profiles[pod.Spec.SchedulerName]
	if !ours || pod.DeletionTimestamp != nil || finished(pod) {
		record.Result = resultIgnored
		return record
	}
	for _, plugin := range profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(c.ctx, pod); !status.IsSuccess() {
			record.Result = resultGated
			record.Message = status.Message()
			return record
		}
	}
	if len(c.nodes) == 0 {
		record.Result = resultUnschedulable
		record.Message = scheduler.ErrNoNodesAvailable.Error()
		record.Nodes = &[]NodeVerdict{}
		return record
	}
	cycle := &cycle{Cluster: c, pod: pod, profile: profile, record: record, state: framework.NewCycleState()}
	c.state = cycle.state
	cycle.leftOutBy = make(map[string]string)
	c.extenderErrors = nil
	cycle.diagnosis.NodeToStatus = framework.NewDefaultNodeToStatus()
	cycle.state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	if err := cycle.run(); err != nil {
		record.Result = resultError
		record.Message = err.Error()
	}
	record.ExtenderErrors = c.extenderErrors
	return record
}

// evaluateChecked also lets the scheduler make the decision and reports differences from the record. This checks the
// only code between the plugins and the record.
func (c *Cluster) evaluateChecked(pod *v1.Pod) (*Record, error) {
	record := c.evaluate(pod)
	if record.Result == resultIgnored || record.Result == resultGated {
		return record, nil
	}
	if record.contradiction != nil {
		return nil, fmt.Errorf("pod %s: %w", record.Pod, record.contradiction)
	}
	profile := c.scheduler.Profiles[pod.Spec.SchedulerName]
	node, err := c.scheduleWhole(profile, pod)
	if strings.Contains(record.Message, allocationTimedOut) || err != nil && strings.Contains(err.Error(), allocationTimedOut) {
		return record, nil // one of the two searches for devices was too slow
	}
	switch err.(type) {
	case nil:
		if record.Result == resultError && !profile.HasScorePlugins() {
			// The first feasible node is sufficient, so the scheduler did not reach the node with a failing filter.
			return record, nil
		}
		if record.Result != resultScheduled || !slices.Contains(record.BestNodes, node) {
			return nil, fmt.Errorf("pod %s: the scheduler takes %s, the record says %s %s %v", record.Pod, node, record.Result, record.Message, record.BestNodes)
		}
	case *framework.FitError:
		if record.Result != resultUnschedulable || record.search != err.Error() {
			return nil, fmt.Errorf("pod %s: the scheduler says %q, the record %s %q", record.Pod, err, record.Result, record.search)
		}
	default:
		// The text may be that of another node: the scheduler starts where its last search ended.
		if record.Result != resultError && err != scheduler.ErrNoNodesAvailable {
			return nil, fmt.Errorf("pod %s: the scheduler says %q, the record %s %q", record.Pod, err, record.Result, record.Message)
		}
	}
	return record, nil
}

// cycle is one scheduling cycle.
type cycle struct {
	*Cluster
	pod       *v1.Pod
	profile   framework.Framework
	record    *Record
	state     fwk.CycleState
	diagnosis framework.Diagnosis
	// narrowing are the plugins whose PreFilter returned a subset of the nodes.
	narrowing []string
	// leftOut returns whether PreFilter excluded a node from filtering.
	leftOut func(node string) bool
	// If goOn is set, a node whose filter fails does not end the search, because its end is known already; such nodes
	// are in failed.
	goOn   bool
	failed map[string]bool
	// leftOutBy is the extender that removed a node, with or without a reason.
	leftOutBy map[string]string
	// contributions of extenders by node; nil without a reply.
	contributions map[string]map[string]int64
	// passed are the feasible nodes.
	passed map[string]bool
}

func (c *cycle) run() error {
	subset, status, narrowing := c.profile.RunPreFilterPlugins(c.ctx, c.state, c.pod)
	c.narrowing = sets.List(narrowing)
	c.diagnosis.UnschedulablePlugins = narrowing
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return status.AsError()
		}
		c.rejectedByPreFilter(status)
		return nil
	}

	nominated := c.tryNominatedNode()
	targets := c.nodes
	c.leftOut = func(string) bool { return false }
	if !subset.AllNodes() {
		c.leftOut = func(node string) bool {
			return !subset.NodeNames.Has(node) && (nominated == nil || nominated.Node().Name != node)
		}
		targets = slices.DeleteFunc(slices.Clone(c.nodes), func(n fwk.NodeInfo) bool { return !subset.NodeNames.Has(n.Node().Name) })
		// The list is read at this point because it then also contains the plugin that rejected the nominated node.
		c.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(narrowing))))
	}
	c.goOn, c.failed = nominated != nil, make(map[string]bool)
	if c.search != nil {
		targets = c.search(targets)
	}
	feasible, err := c.filter(&c.diagnosis, targets)
	if nominated != nil {
		// The search ended at the nominated node; the verdicts on the other nodes are for the reader.
		c.scheduled(nil, []string{nominated.Node().Name}, nominated.Node().Name)
		return nil
	}
	if err != nil {
		return err
	}
	before := len(feasible)
	if feasible, err = c.passExtenders(feasible); err != nil {
		return err
	}
	if len(feasible) != before {
		if c.diagnosis.UnschedulablePlugins == nil {
			c.diagnosis.UnschedulablePlugins = sets.New[string]()
		}
		c.diagnosis.UnschedulablePlugins.Insert(framework.ExtenderName)
	}
	c.passed = make(map[string]bool)
	for _, node := range feasible {
		c.passed[node.Node().Name] = true
	}
	switch len(feasible) {
	case 0:
		c.unschedulable()
		return nil
	case 1:
		c.scheduled(nil, []string{feasible[0].Node().Name}, feasible[0].Node().Name)
		return nil
	default:
		return c.score(feasible)
	}
}

// rejectedByPreFilter: every node has the status of the plugin.
func (c *cycle) rejectedByPreFilter(status *fwk.Status) {
	c.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	c.diagnosis.PreFilterMsg = status.Message()
	c.leftOut = func(string) bool { return true }
	c.record.PreFilter = &PreFilterVerdict{Code: status.Code().String(), Plugin: c.pluginOf(status), Reasons: orderedReasons(status)}
	c.unschedulable()
}

// pluginOf is the plugin of a status; several narrowing plugins with an empty intersection share theirs.
func (c *cycle) pluginOf(status *fwk.Status) string {
	if status.Plugin() != "" {
		return status.Plugin()
	}
	return strings.Join(c.narrowing, ",")
}

// tryNominatedNode filters the nominated node. The scheduler does so independently of the nodes that PreFilter
// returned, and keeps a negative verdict.
func (c *cycle) tryNominatedNode() fwk.NodeInfo {
	name := c.pod.Status.NominatedNodeName
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(c.nodes, func(n fwk.NodeInfo) bool { return n.Node().Name == name })
	if i < 0 {
		return nil
	}
	// A copy, as the scheduler passes it; it shares the statuses and the set of plugins.
	diagnosis := c.diagnosis
	feasible, err := c.filter(&diagnosis, c.nodes[i:i+1])
	if err == nil {
		feasible, err = c.passExtenders(feasible)
		clear(c.leftOutBy)
	}
	if err != nil || len(feasible) == 0 {
		// The scheduler logs an error here and continues; it occurs again in the full search.
		return nil
	}
	return c.nodes[i]
}

func (c *cycle) filter(diagnosis *framework.Diagnosis, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, error) {
	if !c.profile.HasFilterPlugins() {
		return nodes, nil
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status := c.profile.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, node)
		switch {
		case status.Code() == fwk.Error && !c.goOn:
			return feasible, status.AsError()
		case status.Code() == fwk.Error:
			c.failed[node.Node().Name] = true
		case status.IsSuccess():
			feasible = append(feasible, node)
		default:
			diagnosis.NodeToStatus.Set(node.Node().Name, status)
			diagnosis.AddPluginStatus(status)
		}
	}
	return feasible, nil
}

func (c *cycle) score(feasible []fwk.NodeInfo) error {
	var scores []fwk.NodePluginScores
	if c.profile.HasScorePlugins() {
		if status := c.profile.RunPreScorePlugins(c.ctx, c.state, c.pod, feasible); !status.IsSuccess() {
			return status.AsError()
		}
		var status *fwk.Status
		if scores, status = c.profile.RunScorePlugins(c.ctx, c.state, c.pod, feasible); !status.IsSuccess() {
			return status.AsError()
		}
	} else {
		total := int64(1)
		if len(c.scheduler.Extenders) > 0 {
			total = 0
		}
		for _, node := range feasible {
			scores = append(scores, fwk.NodePluginScores{Name: node.Node().Name, TotalScore: total})
		}
	}
	answered := c.addContributions(feasible, scores)
	var best []string
	var top int64
	for _, s := range scores {
		if best == nil || s.TotalScore > top {
			best, top = nil, s.TotalScore
		}
		if s.TotalScore == top {
			best = append(best, s.Name)
		}
	}
	// Among equal nodes those with an extender score win: only they draw a random number.
	if slices.ContainsFunc(best, func(node string) bool { return answered[node] }) {
		best = slices.DeleteFunc(best, func(node string) bool { return !answered[node] })
	}
	sort.Strings(best)
	c.scheduled(scores, best, best[0])
	return nil
}

func (c *cycle) scheduled(scores []fwk.NodePluginScores, best []string, node string) {
	c.record.Result = resultScheduled
	c.record.Node = node
	c.record.BestNodes = best
	c.listNodes()
	byName := make(map[string]fwk.NodePluginScores, len(scores))
	for _, s := range scores {
		byName[s.Name] = s
	}
	for i := range *c.record.Nodes {
		verdict := &(*c.record.Nodes)[i]
		if s, ok := byName[verdict.Name]; ok {
			plugins := make(map[string]int64, len(s.Scores))
			for _, p := range s.Scores {
				plugins[p.Name] = p.Score
			}
			verdict.Scores, verdict.Total = &plugins, &s.TotalScore
			verdict.Extenders = c.contributions[s.Name]
		}
	}
}

func (c *cycle) unschedulable() {
	c.record.Result = resultUnschedulable
	fit := framework.FitError{Pod: c.pod, NumAllNodes: len(c.nodes), Diagnosis: c.diagnosis}
	c.record.search = fit.Error()
	c.listNodes()
	fit.Diagnosis.PostFilterMsg, c.record.Nomination, c.record.contradiction = c.postFilter()
	c.record.Message = fit.Error()
}

// listNodes records the verdict on every node. A node without a status passed, unless PreFilter excluded it.
func (c *cycle) listNodes() {
	explicit := make(map[string]*fwk.Status)
	c.diagnosis.NodeToStatus.ForEachExplicitNode(func(name string, status *fwk.Status) { explicit[name] = status })
	verdicts := make([]NodeVerdict, 0, len(c.nodes))
	for _, node := range c.nodes {
		name := node.Node().Name
		if c.passed[name] {
			verdicts = append(verdicts, NodeVerdict{Name: name, Code: fwk.Success.String()})
		} else if status, ok := explicit[name]; ok {
			verdict := rejection(name, status)
			if verdict.Plugin == "" {
				verdict.Plugin = framework.ExtenderName
			}
			verdicts = append(verdicts, verdict)
		} else if by, ok := c.leftOutBy[name]; ok {
			verdicts = append(verdicts, rejectedSilently(name, by))
		} else if c.leftOut(name) {
			absent := c.diagnosis.NodeToStatus.AbsentNodesStatus()
			verdict := rejection(name, absent)
			verdict.Plugin = c.pluginOf(absent)
			verdicts = append(verdicts, verdict)
		} else if c.failed[name] {
			verdicts = append(verdicts, NodeVerdict{Name: name, Code: fwk.Error.String()})
		} else {
			verdicts = append(verdicts, NodeVerdict{Name: name, Code: fwk.Success.String()})
		}
	}
	slices.SortFunc(verdicts, func(a, b NodeVerdict) int { return strings.Compare(a.Name, b.Name) })
	c.record.Nodes = &verdicts
}
