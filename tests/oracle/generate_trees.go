package main

import (
	"fmt"
	"time"
)

// treeGenerator draws one tree of composite groups. All members have the same priority, scheduler and policy.
type treeGenerator struct {
	*groupGenerator
	namespace, policy string
	priority          int
	// objects are the changes that create the groups, parents first.
	objects []change
	// leaves are the keys of the pod groups.
	leaves []string
	// ambiguous: kube-scheduler's error about a member with a node may be about any of several.
	ambiguous bool
	// deep: more levels than kube-scheduler accepts. Its error would be about any of several groups.
	deep bool
}

// newTree draws a tree with its members.
func (g *groupGenerator) newTree() []change {
	t := &treeGenerator{groupGenerator: g, namespace: pick(g.rng, podNamespaces...), policy: g.policy(), priority: pick(g.rng, 0, 0, 100)}
	if g.preemption {
		t.priority = pick(g.rng, 0, 0, 5, 100, 100, 1000)
	}
	depth := pick(g.rng, 2, 2, 2, 3, 3, 4)
	if g.chance(0.04) {
		depth = pick(g.rng, 1, 5, 6) // 1: without a child
		t.deep = depth > 1
	}
	t.composite("", depth)
	shapes, changes := g.memberShapes(t.namespace, t.policy)
	for _, shape := range shapes {
		shape["spec"].(object)["priority"] = t.priority
	}
	var members []change
	assigned := pick(g.rng, 0, 0, 0, 1, 2)
	if t.ambiguous {
		assigned = min(assigned, 1)
	}
	drawn := g.nodeNames
	if t.ambiguous {
		g.nodeNames = g.keys["Node"]
	}
	for range assigned {
		if len(t.leaves) > 0 {
			members = append(members, t.member(pick(g.rng, t.leaves...), pick(g.rng, shapes...), true)...)
		}
	}
	g.nodeNames = drawn
	for _, leaf := range t.leaves {
		for range pick(g.rng, 0, 1, 1, 2, 2, 3, 4) {
			members = append(members, t.member(leaf, pick(g.rng, shapes...), false)...)
		}
	}
	if g.chance(0.3) {
		g.Shuffle(len(t.objects), func(i, j int) { t.objects[i], t.objects[j] = t.objects[j], t.objects[i] })
	}
	if g.chance(0.3) && g.volumes == 0 && !g.devices {
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	// With several members before a group, the time of the entry would depend on the order of a map.
	if len(members) > 0 && g.chance(0.2) && g.volumes == 0 && !g.devices {
		changes = append(changes, members[0])
		members = members[1:]
	}
	return append(append(changes, t.objects...), members...)
}

// member creates a member of a group of the tree.
func (t *treeGenerator) member(leaf string, shape object, assigned bool) []change {
	shape = copied(shape).(object)
	shape["spec"].(object)["schedulingGroup"] = object{"podGroupName": t.groupGenerator.objects["PodGroup"][leaf]["metadata"].(object)["name"]}
	return t.groupGenerator.member(leaf, shape, assigned)
}

// composite draws a composite group with at most this number of levels below its parent.
func (t *treeGenerator) composite(parent string, levels int) {
	name := fmt.Sprintf("composite-%d", len(t.composites))
	key := t.namespace + "/" + name
	t.composites = append(t.composites, key)
	o := t.group("CompositePodGroup", "scheduling.k8s.io/v1alpha3", name, parent)
	children := pick(t.rng, 1, 2, 2, 3)
	if t.deep {
		children = 1
	}
	if levels == 1 {
		children = 0
	}
	if t.chance(0.6) {
		least := max(1, children+pick(t.rng, -2, -1, -1, 0, 0, 0, 1))
		o["spec"].(object)["schedulingPolicy"] = object{"gang": object{"minGroupCount": least}}
	}
	t.put(o)
	t.objects = append(t.objects, changeTo(o))
	deepest := t.IntN(max(1, children))
	for i := range children {
		switch {
		case levels > 2 && (i == deepest || t.chance(0.3)):
			t.composite(name, levels-1)
		default:
			t.leaf(name)
		}
	}
}

// leaf draws a pod group.
func (t *treeGenerator) leaf(parent string) {
	name := fmt.Sprintf("group-%d", len(t.groups))
	key := t.namespace + "/" + name
	o := t.group("PodGroup", "scheduling.k8s.io/v1beta1", name, parent)
	if t.chance(0.7) {
		o["spec"].(object)["schedulingPolicy"] = object{"gang": object{"minCount": pick(t.rng, 1, 1, 2, 2, 3)}}
	}
	t.put(o)
	t.objects = append(t.objects, changeTo(o))
	t.groups = append(t.groups, key)
	t.leaves = append(t.leaves, key)
}

// group draws what both kinds have.
func (t *treeGenerator) group(kind, version, name, parent string) object {
	spec := object{"schedulingPolicy": object{"basic": object{}}}
	priority := t.priority
	if parent != "" {
		spec["parentCompositePodGroupName"] = parent
		priority = pick(t.rng, priority, priority, 0, 100)
	}
	if priority != 0 || t.chance(0.5) {
		spec["priority"] = priority
	}
	if t.policy != "" && (parent != "" || t.chance(0.9)) {
		spec["preemptionPolicy"] = t.policy
	}
	if t.chance(0.35) {
		key := pick(t.rng, "topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk", "nowhere")
		spec["schedulingConstraints"] = object{"topology": array{object{"key": key}}}
		t.ambiguous = true
	}
	if t.preemption && t.chance(0.5) {
		spec["disruptionMode"] = pick(t.rng, object{"single": object{}}, object{"all": object{}})
		t.ambiguous = true
	}
	created := startOfTime.Add(time.Duration(t.IntN(3)) * time.Second).Format(time.RFC3339)
	return object{"apiVersion": version, "kind": kind, "metadata": object{"name": name, "namespace": t.namespace, "uid": "uid-of-" + name,
		"creationTimestamp": created, "generation": t.between(0, 3), "resourceVersion": "1"}, "spec": spec}
}

// changeTree changes the number of groups that must be scheduled, or deletes a group of a tree or creates it again.
func (g *groupGenerator) changeTree() change {
	kind, key := "CompositePodGroup", pick(g.rng, g.composites...)
	if len(g.groups) > 0 && g.chance(0.4) {
		kind, key = "PodGroup", pick(g.rng, g.groups...)
	}
	o := g.objects[kind][key]
	switch {
	case o == nil:
		for i, absent := range g.absent[kind] {
			if keyOf(absent) == key {
				g.absent[kind] = append(g.absent[kind][:i:i], g.absent[kind][i+1:]...)
				again := copied(absent).(object)
				metadata := again["metadata"].(object)
				metadata["uid"] = metadata["uid"].(string) + "-again"
				g.put(again)
				return changeTo(again)
			}
		}
		panic("no group " + key)
	case g.chance(0.5):
		return g.delete(kind, key)
	}
	after := copied(o).(object)
	gang, ok := after["spec"].(object)["schedulingPolicy"].(object)["gang"].(object)
	if ok && kind == "CompositePodGroup" {
		gang["minGroupCount"] = g.between(1, 3)
	} else if ok {
		gang["minCount"] = g.between(1, len(g.members[key])+1)
	}
	g.revise(after)
	g.put(after)
	return changeTo(after)
}
