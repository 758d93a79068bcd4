package main

import (
	"fmt"
	"maps"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// generate draws a sequence and runs it on the real queue. With trees, some of its groups belong to composite groups;
// then enableTrees must have been called.
func generate(seed uint64, groups, trees bool) sequence {
	d := newRNG(seed)
	s := sequence{Seed: seed, Options: drawOptions(d), Plugins: drawPlugins(d)}
	s.Options.Groups, s.Options.Trees = groups, trees
	if trees {
		oneGate(s.Plugins)
	}
	g := &generator{rng: d, environment: newEnvironment(s.Options, s.Plugins), generations: make(map[string]int)}
	g.names = "abcdefgh"[:d.between(2, 8)]
	g.quick = d.chance(0.5)
	g.groups = groups
	if trees {
		g.drawTree()
	}
	for length := d.between(10, 90); len(s.Steps) < length; {
		if done, ok := g.environment.apply(g.draw()); ok {
			s.Steps = append(s.Steps, done)
			g.popped = done.Popped
		}
	}
	// At the end all pending pods are popped, which shows their order.
	for _, op := range g.drain() {
		if g.environment.attempted != nil {
			done, _ := g.environment.apply(operation{Kind: "end", Outcome: "scheduled"})
			s.Steps = append(s.Steps, done)
		}
		if done, ok := g.environment.apply(op); ok {
			s.Steps = append(s.Steps, done)
		}
	}
	return s
}

func drawOptions(d rng) options {
	o := options{
		Start:              3_600_000 + int64(d.IntN(60_000)),
		InitialBackoff:     pick(d, int64(1000), 1000, 1000, 500, 3000, 0, 20_000),
		MaxBackoff:         pick(d, int64(10_000), 10_000, 10_000, 60_000, 1000, 0),
		MaxInUnschedulable: pick(d, int64(300_000), 300_000, 40_000, 0),
	}
	return o
}

var hintedResources = []fwk.EventResource{fwk.Node, fwk.AssignedPod, fwk.TargetPod, fwk.PersistentVolumeClaim, fwk.StorageClass, fwk.CSINode}

func drawPlugins(d rng) []plugin {
	var all []plugin
	for _, name := range []string{"Gates", "Hold", "Mood", "P1", "P2", "P3", "P4"} {
		p := plugin{Name: name, PreEnqueue: name[0] != 'P', Profiles: profiles}
		if d.chance(0.15) {
			p.Profiles = profiles[:1]
		}
		for range d.between(0, 8) {
			resource := pick(d, hintedResources...)
			p.Events = append(p.Events, registration{string(resource), int64(drawAction(d, resource)), d.chance(0.8)})
		}
		if name == "Gates" && d.chance(0.8) {
			p.Events = append(p.Events, registration{string(fwk.TargetPod), int64(fwk.UpdatePodSchedulingGatesEliminated), false})
		}
		if d.chance(0.08) {
			p.Events = append(p.Events, registration{string(fwk.WildCard), int64(pick(d, fwk.All, fwk.Add, fwk.Update)), false})
		}
		all = append(all, p)
	}
	return all
}

// The possible changes of objects of a kind, bit by bit, and the other events that plugins register.
var (
	nodeActions   = []fwk.ActionType{fwk.Add, fwk.Delete, fwk.UpdateNodeAllocatable, fwk.UpdateNodeLabel, fwk.UpdateNodeTaint, fwk.UpdateNodeCondition, fwk.UpdateNodeAnnotation, fwk.UpdateNodeDeclaredFeature, fwk.UpdateNodePreemptionPolicy}
	podActions    = []fwk.ActionType{fwk.Add, fwk.Delete, fwk.UpdatePodLabel, fwk.UpdatePodScaleDown, fwk.UpdatePodScaleUp, fwk.UpdatePodToleration, fwk.UpdatePodSchedulingGatesEliminated, fwk.UpdatePodGeneratedResourceClaim, fwk.Update}
	targetActions = podActions[2:]
	otherActions  = []fwk.ActionType{fwk.Add, fwk.Delete, fwk.Update}
)

func actionsOf(resource fwk.EventResource) []fwk.ActionType {
	switch resource {
	case fwk.Node:
		return nodeActions
	case fwk.AssignedPod:
		return podActions
	case fwk.TargetPod:
		return targetActions
	}
	return otherActions
}

func drawAction(d rng, resource fwk.EventResource) fwk.ActionType {
	if d.chance(0.1) {
		return pick(d, fwk.All, fwk.Update)
	}
	var action fwk.ActionType
	for range d.between(1, 3) {
		action |= pick(d, actionsOf(resource)...)
	}
	return action
}

type generator struct {
	rng
	environment *environment
	names       string
	generations map[string]int
	revision    int
	popped      string // by the previous step
	quick       bool   // short steps: much happens during a backoff
	groups      bool   // some pods belong to pod groups
	// tree are the groups of sequences with trees: composite groups first.
	tree []groupObject
}

// oneGate leaves one plugin that gates pods. Of several, the one that gates a tree is random in the original.
func oneGate(plugins []plugin) {
	for i := range plugins {
		plugins[i].PreEnqueue = plugins[i].PreEnqueue && plugins[i].Name == "Gates"
	}
}

// drawTree draws the parents of groups.
func (g *generator) drawTree() {
	parents := []string{""}
	for i := range g.between(1, 3) {
		name := fmt.Sprintf("c%d", i+1)
		g.tree = append(g.tree, groupObject{Name: name, Composite: true, Parent: pick(g.rng, parents...)})
		parents = append(parents, name)
	}
	for i := range g.between(1, 3) {
		g.tree = append(g.tree, groupObject{Name: fmt.Sprintf("g%d", i+1), Parent: pick(g.rng, parents...)})
	}
	for i := range g.tree {
		g.tree[i].Priority = int32(pick(g.rng, 0, 0, 5))
	}
}

// drawTreeChange draws a change of a group of a tree.
func (g *generator) drawTreeChange() operation {
	group := pick(g.rng, g.tree...)
	prefix, known := "group-", g.environment.groups
	if group.Composite {
		prefix, known = "composite-", g.environment.composites
	}
	g.revision++
	group.Revision = g.revision
	switch _, exists := known[group.Name]; {
	case !exists:
		return operation{Kind: prefix + "add", Group: &group}
	case g.chance(0.5):
		return operation{Kind: prefix + "update", Group: &group}
	}
	return operation{Kind: prefix + "delete", Name: group.Name}
}

// groupNames are the names of the groups to which pods belong.
func (g *generator) groupNames() (names []string) {
	if g.tree == nil {
		return groupNames
	}
	for _, group := range g.tree {
		if !group.Composite {
			names = append(names, group.Name)
		}
	}
	return names
}

// draw proposes an operation; the environment decides whether it is applicable.
func (g *generator) draw() operation {
	if g.environment.attempted != nil {
		return g.end()
	}
	if g.tree != nil && g.chance(0.15) {
		return g.drawTreeChange()
	}
	if g.groups && g.tree == nil && g.chance(0.12) {
		return pick(g.rng, g.addGroup, g.addGroup, g.updateGroup, g.deleteGroup)()
	}
	// Most attempts end before the next operation.
	if uid := g.popped; uid != "" && g.chance(0.6) {
		g.popped = ""
		return g.rejectionOf(uid)
	}
	kinds := []struct {
		weight int
		draw   func() operation
	}{
		{14, g.add}, {12, g.update}, {3, g.delete},
		{18, func() operation { return operation{Kind: "pop"} }},
		{14, g.reject}, {6, g.fail}, {3, g.done}, {2, g.drop}, {3, g.place}, {2, g.nominate}, {4, g.bind},
		{30, g.event}, {4, g.timeout}, {6, g.activate}, {14, g.step},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := g.IntN(total)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.draw()
		}
	}
	panic("unreachable")
}

func (g *generator) existing() string {
	uids := slices.Sorted(maps.Keys(g.environment.objects))
	if len(uids) == 0 {
		return ""
	}
	return pick(g.rng, uids...)
}

func (g *generator) holding() string {
	uids := slices.Sorted(maps.Keys(g.environment.held))
	if len(uids) == 0 {
		return ""
	}
	return pick(g.rng, uids...)
}

func (g *generator) add() operation {
	name := string(g.names[g.IntN(len(g.names))])
	g.generations[name]++
	object := podObject{
		Name: name, UID: fmt.Sprintf("%s%d", name, g.generations[name]), Profile: profiles[0],
		Priority: int32(pick(g.rng, 0, 0, 0, 5, 10, -3)), MilliCPU: int64(g.IntN(3)) * 100,
	}
	if g.chance(0.2) && g.tree == nil {
		object.Profile = profiles[1]
	}
	if g.chance(0.12) {
		object.Gates = g.between(1, 2)
	}
	object.Labels = g.labels()
	if g.chance(0.15) {
		object.Nominated = pick(g.rng, nodeNames...)
	}
	if g.groups && g.chance(0.8) {
		object.Group = pick(g.rng, g.groupNames()...)
	}
	return operation{Kind: "add", Object: &object}
}

var groupNames = []string{"g1", "g2"}

func (g *generator) addGroup() operation {
	g.revision++
	return operation{Kind: "group-add", Group: &groupObject{
		Name: pick(g.rng, groupNames...), Priority: int32(pick(g.rng, 0, 0, 5)), Revision: g.revision}}
}

// updateGroup changes nothing that matters: the priority is immutable.
func (g *generator) updateGroup() operation {
	group := g.environment.groups[pick(g.rng, groupNames...)]
	g.revision++
	group.Revision = g.revision
	return operation{Kind: "group-update", Group: &group}
}

func (g *generator) deleteGroup() operation {
	return operation{Kind: "group-delete", Name: pick(g.rng, groupNames...)}
}

// end draws the result of the group's attempt. In a scheduled group some members may fail, in another all do.
func (g *generator) end() operation {
	op := operation{Kind: "end", Outcome: pick(g.rng, "scheduled", "rejected", "rejected", "error")}
	for _, uid := range slices.Sorted(maps.Keys(g.environment.held)) {
		member := false
		g.environment.attempted.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
			member = member || string(info.Pod.UID) == uid
			return true
		})
		if member && (op.Outcome != "scheduled" || g.chance(0.4)) {
			op.Pods = append(op.Pods, uid)
		}
	}
	if g.chance(0.6) {
		rejection := g.rejectionOf(op.firstPod())
		op.Rejectors, op.Pending = rejection.Rejectors, rejection.Pending
	}
	return op
}

func (o operation) firstPod() string {
	if len(o.Pods) == 0 {
		return ""
	}
	return o.Pods[0]
}

func (g *generator) labels() map[string]string {
	labels := make(map[string]string)
	if g.chance(0.4) {
		labels["l"] = fmt.Sprint(g.IntN(8))
	}
	if g.chance(0.08) {
		labels["hold"] = fmt.Sprint(g.environment.now() + int64(pick(g.rng, 500, 5_000, 60_000, 400_000)))
	}
	return labels
}

// update changes one or several fields of a pod. Its priority and scheduler cannot change.
func (g *generator) update() operation {
	uid := g.existing()
	object := g.environment.objects[uid]
	object.UID = uid
	changes := 1
	if g.chance(0.25) {
		changes = g.between(2, 4)
	}
	for range changes {
		switch g.IntN(10) {
		case 0, 1:
			object.Labels = g.labels()
		case 2:
			object.Tolerations++
		case 3:
			object.Gates = max(0, object.Gates-1)
		case 4:
			object.Gates = 0
		case 5:
			object.MilliCPU += 100
		case 6:
			object.MilliCPU = max(0, object.MilliCPU-100)
		case 7:
			object.Claims++
		case 8:
			object.Nominated = pick(g.rng, append([]string{""}, nodeNames...)...)
		default: // an update that is irrelevant for scheduling
		}
	}
	g.revision++
	object.Revision = g.revision
	return operation{Kind: "update", Object: &object}
}

func (g *generator) delete() operation { return operation{Kind: "delete", Pod: g.existing()} }
func (g *generator) done() operation   { return operation{Kind: "done", Pod: g.holding()} }
func (g *generator) drop() operation   { return operation{Kind: "drop", Pod: g.holding()} }
func (g *generator) bind() operation   { return operation{Kind: "bind", Pod: g.holding()} }
func (g *generator) place() operation  { return operation{Kind: "place", Pod: g.holding()} }

func (g *generator) nominate() operation {
	return operation{Kind: "nominate", Pod: g.holding(), Nominate: g.nomination()}
}

func (g *generator) nomination() *string {
	node := pick(g.rng, append([]string{""}, nodeNames...)...)
	if g.chance(0.6) {
		return nil
	}
	return &node
}

func (g *generator) reject() operation { return g.rejectionOf(g.holding()) }

func (g *generator) rejectionOf(uid string) operation {
	var names []string
	for _, p := range g.environment.plugins {
		if slices.Contains(p.Profiles, g.environment.objects[uid].Profile) {
			names = append(names, p.Name)
		}
	}
	op := operation{Kind: "requeue", Pod: uid, Rejectors: some(g.rng, g.between(1, 3), names), Nominate: g.nomination()}
	if g.chance(0.3) {
		op.Pending = some(g.rng, g.between(1, 2), op.Rejectors)
	}
	return op
}

func (g *generator) fail() operation {
	return operation{Kind: "requeue", Pod: g.holding(), Nominate: g.nomination()}
}

func (g *generator) event() operation {
	resource := fwk.TargetPod
	for resource == fwk.TargetPod { // only for updates of that pod
		resource = pick(g.rng, hintedResources...)
	}
	action := pick(g.rng, actionsOf(resource)...)
	if wanted, ok := g.awaited(); ok && g.chance(0.7) {
		resource = fwk.EventResource(wanted.Resource)
		action = pick(g.rng, slices.DeleteFunc(slices.Clone(actionsOf(resource)), func(a fwk.ActionType) bool {
			return int64(a)&wanted.Action == 0
		})...)
	}
	e := event{Resource: string(resource), Action: int64(action)}
	e.Label = e.cluster().Label()
	name := fmt.Sprintf("e%d", g.IntN(50))
	if action != fwk.Add {
		e.Before = name
	}
	if action != fwk.Delete {
		e.After = name
	}
	if g.chance(0.25) {
		e.UpTo = new(int32)
		*e.UpTo = int32(pick(g.rng, -3, 0, 5))
	}
	return operation{Kind: "event", Event: &e}
}

// awaited draws an event that a rejector of some pod has registered. Otherwise hardly any event would have an effect.
func (g *generator) awaited() (registration, bool) {
	var registered []registration
	for _, uid := range slices.Sorted(maps.Keys(g.environment.infos)) {
		info := g.environment.infos[uid]
		for _, p := range g.environment.plugins {
			if !info.UnschedulablePlugins.Has(p.Name) && !info.PendingPlugins.Has(p.Name) {
				continue
			}
			for _, r := range p.Events {
				if r.Resource != string(fwk.TargetPod) && r.Resource != string(fwk.WildCard) {
					registered = append(registered, r)
				}
			}
		}
	}
	if len(registered) == 0 {
		return registration{}, false
	}
	return pick(g.rng, registered...), true
}

// timeout is a wildcard event, for all pods or for one.
func (g *generator) timeout() operation {
	ce := pick(g.rng, framework.EventUnschedulableTimeout, framework.EventForceActivate)
	e := event{Resource: string(ce.Resource), Action: int64(ce.ActionType), Label: ce.Label()}
	if g.chance(0.5) {
		e.Target = g.anyUID()
	}
	return operation{Kind: "event", Event: &e}
}

// anyUID is the UID of a pod that is pending, in flight, or does not exist.
func (g *generator) anyUID() string {
	if uid := pick(g.rng, g.existing(), g.existing(), g.holding()); uid != "" {
		return uid
	}
	return "z1"
}

func (g *generator) activate() operation {
	op := operation{Kind: "activate"}
	for range g.between(1, 3) {
		uid := g.anyUID()
		// A name stands for the newest pod with that name.
		object, exists := g.environment.objects[uid]
		if exists && object.Group != "" && !g.environment.queuedOrInFlight(uid) {
			continue // Berth knows the group only of pods that wait or have an attempt
		}
		if exists && !slices.Contains(op.Pods, uid) {
			op.Pods = append(op.Pods, uid)
		}
	}
	if g.chance(0.2) {
		op.Pods = append(op.Pods, "z1")
	}
	return op
}

func (g *generator) step() operation {
	var ms int
	size := g.IntN(10)
	if g.quick && !g.chance(0.1) {
		size = g.IntN(4)
	}
	switch size {
	case 0, 1, 2:
		ms = g.between(1, 999)
	case 3, 4, 5, 6:
		ms = g.between(1000, 15_000)
	case 7:
		ms = 1000 * g.between(1, 10)
	case 8:
		ms = g.between(20_000, 90_000)
	default:
		ms = g.between(100_000, 700_000)
	}
	return operation{Kind: "step", Millis: int64(ms)}
}

func (g *generator) drain() []operation {
	var ops []operation
	if g.chance(0.5) {
		ops = append(ops, operation{Kind: "step", Millis: 700_000})
	}
	for range len(g.names) + 1 {
		ops = append(ops, operation{Kind: "pop"})
	}
	return ops
}
