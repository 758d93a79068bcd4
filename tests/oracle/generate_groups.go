package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// groupGenerator draws a scenario with pod groups. The steps do not depend on the decisions.
type groupGenerator struct {
	*changingCluster
	// preemption: pods may evict others.
	preemption bool
	// placements: groups may have topology constraints.
	placements bool
	// devices: groups and members have claims of devices.
	devices bool
	// trees: most groups belong to trees of composite groups, whose keys are in composites.
	trees      bool
	composites []string
	// claims are the claims that members of a group share, by group.
	claims map[string]sharedClaims
	// started counts the pods with a start time. No two are equal, because kube-scheduler evicts equal ones in any order.
	started int
	// onUnknownNode: a member of a group that is evicted as a whole is on a node that does not exist. kube-scheduler's error is
	// about one of several, in the order of its nodes.
	onUnknownNode bool
	// groups are the groups by key, in the order of their creation, and members their pods.
	groups  []string
	members map[string][]string
	number  int
}

// groupOptions select scenarios.
type groupOptions struct {
	// nodes is the number of nodes; 0: random.
	nodes int
	// preemption: groups may evict pods of lower priority.
	preemption bool
	// volumes: members have claims, and their bindings fail.
	volumes bool
	// single: without groups; instead, objects of all kinds change, and pending pods, too.
	single bool
	// devices: groups and members have claims of devices.
	devices bool
	// trees: composite groups form trees.
	trees bool
}

// generateGroups draws a scenario.
func generateGroups(seed uint64, o groupOptions) (*groupScenario, error) {
	allowed, err := focusPlugins(mixed)
	if err != nil {
		return nil, err
	}
	g := &generator{rng: newRNG(seed), plugins: allowed, focus: mixed}
	g.character()
	g.plain()
	// Hints of terms with namespace selectors may differ (mayDiffer). All members of a group are in one namespace.
	g.withoutNamespaceSelectors = o.single || o.trees
	g.preemption = 0
	if o.preemption {
		g.preemption = pick(g.rng, 0.3, 0.6)
		g.startedOn = make(map[any]int)
	}
	if !o.volumes {
		g.volumes = 0
	}
	g.cores, g.podCPU = pick(g.rng, 2, 4, 8, 16), pick(g.rng, 300, 800, 1500, 3000)
	nodes := pick(g.rng, 5, 5, 8, 12, 12, 20, 30, 50, 100)
	s := &groupScenario{Seed: seed, Gates: fmt.Sprintf("GenericWorkload=%t", !o.single)}
	if g.chance(0.04) {
		nodes, s.sampled = 140, true
	}
	if o.nodes > 0 {
		nodes, s.sampled = o.nodes, false
	}
	if g.chance(0.2) && !o.single {
		s.Gates += ",PodGroupPreemptionPolicy=true"
	}
	placements := g.chance(0.4) && !o.single || o.trees
	if placements {
		s.Gates += ",TopologyAwareWorkloadScheduling=true"
	}
	if o.trees {
		s.Gates += ",CompositePodGroup=true"
	}
	if o.devices {
		// The test delivers no taint rules, and no driver reports conditions.
		s.Gates += ",DRADeviceTaintRules=false,DRADeviceBindingConditions=false"
		if g.chance(0.85) {
			s.Gates += ",DRAWorkloadResourceClaims=true"
		}
	}
	config := g.config()
	delete(config, "percentageOfNodesToScore")
	for _, profile := range config["profiles"].(array) {
		profile := profile.(object)
		delete(profile, "percentageOfNodesToScore")
		if s.sampled {
			profile["percentageOfNodesToScore"] = pick(g.rng, 5, 75, 80, 90)
		}
		keepScores(profile)
		if !o.single {
			g.enableGangs(profile)
		}
		if placements {
			g.enablePlacements(profile)
		}
	}
	text, err := toYAML(config)
	if err != nil {
		return nil, err
	}
	s.Config = string(text)

	var items array
	for _, item := range g.cluster(scale{nodes: nodes, maxBound: nodes, maxPending: 0}) {
		o := item.(object)
		if kindOf(o) == "Pod" {
			withoutPorts(o)
			unfinished(o)
		}
		items = append(items, o)
	}
	for i := range 4 {
		items = append(items, g.node(g.nodeName(1000+i, 1004)))
	}
	if o.devices {
		items = append(items, g.groupDevices()...)
	}
	// kube-scheduler does not see the volumes that another profile has reserved.
	if len(g.schedulers) > 1 {
		g.volumes = 0
	}
	c := &groupGenerator{changingCluster: newChangingCluster(g, items, func(object) bool { return false }), preemption: o.preemption,
		placements: placements, devices: o.devices, trees: o.trees, claims: make(map[string]sharedClaims), members: make(map[string][]string)}
	for _, pod := range append(c.existing("Pod"), c.absent["Pod"]...) {
		c.start(pod)
	}
	var first groupStep
	for _, kind := range slices.Sorted(maps.Keys(c.objects)) {
		if kind == "Node" || kind == "Pod" {
			continue
		}
		for _, o := range c.existing(kind) {
			first.Changes = append(first.Changes, changeTo(o))
		}
	}
	for _, kind := range []string{"Node", "Pod"} {
		keys := slices.Sorted(slices.Values(c.keys[kind]))
		for _, key := range keys {
			first.Changes = append(first.Changes, changeTo(c.objects[kind][key]))
		}
	}
	s.Steps = append(s.Steps, first)
	draw := c.step
	if o.single {
		draw = c.singlePodStep
	}
	for range c.between(4, 9) {
		s.Steps = append(s.Steps, draw())
	}
	return s, nil
}

// keepScores lets a profile score nodes. Without scores kube-scheduler takes the next node at which it looks.
func keepScores(profile object) {
	sets, _ := profile["plugins"].(object)
	if score, ok := sets["score"].(object); ok && score["enabled"] == nil {
		delete(sets, "score")
	}
}

// enableGangs adds the plugin of groups to a profile that lists its plugins.
func (g *generator) enableGangs(profile object) {
	sets, _ := profile["plugins"].(object)
	multiPoint, ok := sets["multiPoint"].(object)
	if !ok || multiPoint["disabled"] == nil || g.chance(0.03) {
		return
	}
	enabled := multiPoint["enabled"].(array)
	i := len(enabled)
	if g.chance(0.2) {
		i = g.IntN(len(enabled) + 1)
	}
	multiPoint["enabled"] = slices.Insert(enabled, i, any(object{"name": "GangScheduling"}))
}

// enablePlacements adds the plugins of placements to a profile that lists its plugins.
func (g *generator) enablePlacements(profile object) {
	sets, _ := profile["plugins"].(object)
	multiPoint, ok := sets["multiPoint"].(object)
	if !ok || multiPoint["disabled"] == nil || g.chance(0.05) {
		return
	}
	enabled := append(multiPoint["enabled"].(array), object{"name": "TopologyPlacementGenerator"})
	if g.chance(0.9) {
		enabled = append(enabled, object{"name": "PodGroupPodsCount", "weight": pick(g.rng, 1, 1, 3)})
	}
	multiPoint["enabled"] = enabled
}

// start gives a pod a start time of its own if pods may be evicted, also to a pending one: it has it when it is assumed.
func (g *groupGenerator) start(pod object) {
	if !g.preemption {
		return
	}
	g.started++
	status, ok := pod["status"].(object)
	if !ok {
		status = object{}
		pod["status"] = status
	}
	started := startOfTime.Add(time.Duration(g.started+g.IntN(2)*100_000) * time.Second)
	status["startTime"] = started.Format(time.RFC3339)
}

// step draws the changes before one or more cycles.
func (g *groupGenerator) step() groupStep {
	var s groupStep
	if g.chance(0.5) {
		s.Deliver = true
	}
	if g.chance(0.35) {
		s.Advance = int64(g.between(1, 20)) * 1000
	}
	add := func(c change, ok bool) {
		if ok {
			s.Changes = append(s.Changes, c)
		}
	}
	for g.chance(0.4) {
		switch g.IntN(6) {
		case 0, 1:
			add(g.add(pick(g.rng, "Node", "Node", "Pod")))
		case 2:
			if key, ok := g.anyKey("Pod", isBound); ok {
				add(g.delete("Pod", key), true)
			}
		case 3:
			if key, ok := g.anyKey("Node", anything); ok {
				add(g.update("Node", key), true)
			}
		case 4:
			if len(g.groups) > 0 {
				if key := pick(g.rng, g.groups...); g.objects["PodGroup"][key] != nil {
					add(g.changeGroup(key), true)
				}
			}
		case 5:
			if len(g.groups) > 0 {
				add(g.removeMember(pick(g.rng, g.groups...)))
			}
		}
	}
	if g.chance(0.2) {
		s.Changes = append(s.Changes, g.singles()...)
	}
	if g.trees {
		for len(g.composites) > 0 && g.chance(0.4) {
			s.Changes = append(s.Changes, g.changeTree())
		}
	}
	switch {
	case len(g.groups) > 0 && g.chance(0.15):
		s.Changes = append(s.Changes, g.moreMembers(pick(g.rng, g.groups...))...)
	case len(g.groups) > 0 && s.Advance > 0 && g.chance(0.3):
		// Only retries.
	case g.trees && g.chance(0.8):
		s.Changes = append(s.Changes, g.newTree()...)
	default:
		s.Changes = append(s.Changes, g.newGroup()...)
	}
	return s
}

// isBound: pods that were created with a node. Whether others have one depends on decisions.
func isBound(o object) bool { return !isPending(o) && o["spec"].(object)["schedulingGroup"] == nil }

// newGroup draws a group and its members.
func (g *groupGenerator) newGroup() []change {
	name := fmt.Sprintf("group-%d", len(g.groups))
	namespace := pick(g.rng, podNamespaces...)
	key := namespace + "/" + name
	members := pick(g.rng, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 20)
	if g.chance(0.03) {
		members = 40
	}
	spec := object{"schedulingPolicy": object{"basic": object{}}}
	if g.chance(0.75) {
		least := max(1, members+pick(g.rng, -2, -1, -1, 0, 0, 0, 0, 1))
		if g.chance(0.25) {
			least = g.between(1, members)
		}
		spec["schedulingPolicy"] = object{"gang": object{"minCount": least}}
	}
	priority := pick(g.rng, 0, 0, 100)
	if g.preemption {
		priority = pick(g.rng, 0, 0, 5, 100, 100, 1000)
		if g.chance(0.7) {
			spec["disruptionMode"] = pick(g.rng, object{"single": object{}}, object{"all": object{}}, object{"all": object{}})
		}
	}
	if g.placements && g.chance(0.7) {
		key := pick(g.rng, "topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk", "nowhere")
		spec["schedulingConstraints"] = object{"topology": array{object{"key": key}}}
	}
	if priority != 0 || g.chance(0.5) {
		spec["priority"] = priority
	}
	group := object{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
		"metadata": object{"name": name, "namespace": namespace, "uid": "group-uid-" + name, "generation": g.between(0, 3), "resourceVersion": "1"}, "spec": spec}
	policy := g.policy()
	if policy != "" && g.chance(0.9) {
		spec["preemptionPolicy"] = policy
	}
	shapes, changes := g.memberShapes(namespace, policy)
	for _, shape := range shapes {
		spec := shape["spec"].(object)
		spec["schedulingGroup"], spec["priority"] = object{"podGroupName": name}, priority
	}
	if g.devices {
		changes = append(changes, g.groupClaims(group)...)
	}
	stored := len(changes)
	assigned := pick(g.rng, 0, 0, 0, 1, 2)
	if spec["schedulingConstraints"] != nil || spec["disruptionMode"] != nil {
		// kube-scheduler's error may be about any of several.
		assigned = min(assigned, 1)
	}
	for range assigned {
		drawn := g.nodeNames
		if spec["disruptionMode"] != nil && g.onUnknownNode {
			g.nodeNames = slices.Clone(g.keys["Node"])
		}
		changes = append(changes, g.member(key, pick(g.rng, shapes...), true)...)
		g.nodeNames = drawn
		if spec["disruptionMode"] != nil {
			keys := g.members[key]
			node := g.objects["Pod"][keys[len(keys)-1]]["spec"].(object)["nodeName"].(string)
			g.onUnknownNode = g.onUnknownNode || g.objects["Node"][node] == nil
		}
	}
	for range members {
		changes = append(changes, g.member(key, pick(g.rng, shapes...), false)...)
	}
	if members := changes[stored:]; g.chance(0.3) {
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	// With several members before the group, the time of the entry would depend on the order of a map.
	at := stored
	if g.chance(0.2) && g.volumes == 0 {
		at++
	}
	g.put(group)
	g.groups = append(g.groups, key)
	return slices.Insert(changes, min(at, len(changes)), changeTo(group))
}

// policy draws the preemption policy of a group; empty: the default.
func (g *groupGenerator) policy() string {
	if g.preemption {
		return pick(g.rng, "", "", "", "PreemptLowerPriority", "Never")
	}
	return "Never"
}

// memberShapes draws the pods that the members copy, and the changes that create their claims and volumes.
func (g *groupGenerator) memberShapes(namespace, policy string) (shapes []object, changes []change) {
	drawn := len(g.storage.objects)
	shapes = g.shapes()
	for _, item := range g.storage.objects[drawn:] {
		o := item.(object)
		if kindOf(o) == "PersistentVolumeClaim" {
			o["metadata"].(object)["namespace"] = namespace
		}
		if claim, ok := o["spec"].(object)["claimRef"].(object); ok {
			claim["namespace"] = namespace
		}
		if g.objects[kindOf(o)][keyOf(o)] == nil {
			g.put(o)
			changes = append(changes, changeTo(o))
		}
	}
	if len(shapes) > 1 && g.chance(0.4) {
		shapes = shapes[:1]
	}
	scheduler := cmp.Or(shapes[0]["spec"].(object)["schedulerName"], any("default-scheduler"))
	for _, shape := range shapes {
		metadata, spec := shape["metadata"].(object), shape["spec"].(object)
		metadata["namespace"] = namespace
		spec["schedulerName"] = scheduler
		delete(spec, "preemptionPolicy")
		if policy != "" {
			spec["preemptionPolicy"] = policy
		}
		if g.chance(0.4) {
			// Members that request much of a node.
			spec["containers"].(array)[0].(object)["resources"] = object{"requests": object{"cpu": fmt.Sprintf("%dm", g.between(200, g.cores*800))}}
		}
		if g.chance(0.15) {
			g.relate(metadata, spec)
		}
	}
	return shapes, changes
}

// singles draws pods without a group.
func (g *groupGenerator) singles() []change {
	policy := g.policy()
	shapes, changes := g.memberShapes(pick(g.rng, podNamespaces...), policy)
	if g.preemption {
		for _, shape := range shapes {
			shape["spec"].(object)["priority"] = pick(g.rng, 0, 5, 100, 1000)
		}
	}
	for range g.between(1, 3) {
		changes = append(changes, g.member("", pick(g.rng, shapes...), false)...)
	}
	return changes
}

// relate lets the members of a group attract or repel each other.
func (g *groupGenerator) relate(metadata, spec object) {
	labels, _ := metadata["labels"].(object)
	if labels == nil {
		labels = object{}
		metadata["labels"] = labels
	}
	labels["job"] = "j"
	selector := object{"matchLabels": object{"job": "j"}}
	key := pick(g.rng, "kubernetes.io/hostname", "topology.kubernetes.io/zone")
	if g.chance(0.4) {
		spec["topologySpreadConstraints"] = array{object{"maxSkew": pick(g.rng, 1, 2), "topologyKey": key,
			"whenUnsatisfiable": pick(g.rng, "DoNotSchedule", "ScheduleAnyway"), "labelSelector": selector}}
		return
	}
	terms := object{"requiredDuringSchedulingIgnoredDuringExecution": array{object{"topologyKey": key, "labelSelector": selector}}}
	if g.chance(0.3) {
		terms = object{"preferredDuringSchedulingIgnoredDuringExecution": array{object{"weight": 50,
			"podAffinityTerm": object{"topologyKey": key, "labelSelector": selector}}}}
	}
	affinity, _ := spec["affinity"].(object)
	if affinity == nil {
		affinity = object{}
	}
	affinity[pick(g.rng, "podAffinity", "podAntiAffinity")] = terms
	spec["affinity"] = affinity
}

// member creates a copy of a shape, with a node or without, and claims of its own.
func (g *groupGenerator) member(group string, shape object, assigned bool) []change {
	pod := copied(shape).(object)
	g.number++
	metadata, spec, status := pod["metadata"].(object), pod["spec"].(object), pod["status"].(object)
	metadata["name"] = fmt.Sprintf("member-%d", g.number)
	metadata["uid"] = fmt.Sprintf("member-uid-%d", g.number)
	metadata["resourceVersion"] = "1"
	if g.chance(0.3) {
		metadata["generation"] = 1
	}
	if assigned {
		withoutPorts(pod)
		spec["nodeName"], status["phase"] = pick(g.rng, g.nodeNames...), "Running"
	}
	switch roll := g.Float64(); {
	case roll < 0.005:
		spec["priority"] = 5
	case roll < 0.01:
		spec["schedulerName"] = pick(g.rng, append(g.schedulers, "someone-else")...)
	case roll < 0.015 && group != "":
		spec["preemptionPolicy"] = pick(g.rng, "Never", "PreemptLowerPriority")
	case roll < 0.02:
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	case roll < 0.025 && !assigned:
		spec["schedulingGates"] = array{object{"name": "wait"}}
	case roll < 0.06 && !assigned:
		status["nominatedNodeName"] = g.someNodeName()
	}
	g.start(pod)
	var changes []change
	for _, claim := range g.ownClaims(pod, g.number) {
		changes = append(changes, changeTo(claim))
	}
	changes = append(changes, g.useClaims(group, pod)...)
	g.put(pod)
	if group != "" {
		g.members[group] = append(g.members[group], keyOf(pod))
	}
	return append(changes, changeTo(pod))
}

// moreMembers adds copies of a member to a group.
func (g *groupGenerator) moreMembers(group string) (changes []change) {
	keys := g.members[group]
	if len(keys) == 0 {
		return nil
	}
	shape := copied(g.objects["Pod"][pick(g.rng, keys...)]).(object)
	delete(shape["spec"].(object), "nodeName")
	delete(shape["spec"].(object), "schedulingGates")
	delete(shape["metadata"].(object), "deletionTimestamp")
	shape["status"] = object{"phase": "Pending"}
	for range g.between(1, 4) {
		changes = append(changes, g.member(group, shape, false)...)
	}
	return changes
}

// removeMember deletes a member.
func (g *groupGenerator) removeMember(group string) (change, bool) {
	keys := g.members[group]
	if len(keys) == 0 {
		return change{}, false
	}
	key := pick(g.rng, keys...)
	g.members[group] = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
	g.remove("Pod", key)
	return change{Kind: "Pod", Key: key}, true
}

// changeGroup changes the number of members that must be scheduled.
func (g *groupGenerator) changeGroup(key string) change {
	group := copied(g.objects["PodGroup"][key]).(object)
	policy := group["spec"].(object)["schedulingPolicy"].(object)
	if gang, ok := policy["gang"].(object); ok {
		gang["minCount"] = g.between(1, len(g.members[key])+1)
	}
	g.revise(group)
	g.put(group)
	return changeTo(group)
}
