package main

// singlePodStep draws changes of all kinds and pods without a group.
func (g *groupGenerator) singlePodStep() groupStep {
	// All writes are delivered first, so that an update of a pod does not undo them.
	s := groupStep{Deliver: true}
	if g.chance(0.5) {
		s.Advance = int64(g.between(1, 20)) * 1000
	}
	for range g.between(1, 5) {
		if c, ok := g.singlePodChange(); ok {
			s.Changes = append(s.Changes, c)
		}
	}
	for range g.between(0, 2) {
		s.Changes = append(s.Changes, g.singles()...)
	}
	return s
}

// singlePodChange deletes or updates a pod of singles, or changes something else. The scheduler may have bound the pod
// meanwhile; then an update is ignored.
func (g *groupGenerator) singlePodChange() (change, bool) {
	var pending []string
	for _, key := range g.keys["Pod"] {
		if isPending(g.objects["Pod"][key]) {
			pending = append(pending, key)
		}
	}
	if len(pending) == 0 || g.chance(0.6) {
		return g.hintChange(pending)
	}
	key := pick(g.rng, pending...)
	if g.chance(0.3) {
		g.remove("Pod", key)
		return change{Kind: "Pod", Key: key}, true
	}
	if g.chance(0.3) {
		return g.changeGates(key), true
	}
	return g.update("Pod", key), true
}

// changeGates removes the scheduling gates of a pod, one of several, or adds some.
func (g *groupGenerator) changeGates(key string) change {
	after := copied(g.objects["Pod"][key]).(object)
	spec := after["spec"].(object)
	gates, _ := spec["schedulingGates"].(array)
	switch {
	case len(gates) > 1 && g.chance(0.5):
		spec["schedulingGates"] = gates[1:]
	case len(gates) > 0:
		delete(spec, "schedulingGates")
	default:
		for _, name := range []string{"quota", "image", "wait"}[:g.between(1, 3)] {
			gates = append(gates, object{"name": name})
		}
		spec["schedulingGates"] = gates
	}
	g.revise(after)
	g.put(after)
	return changeTo(after)
}
