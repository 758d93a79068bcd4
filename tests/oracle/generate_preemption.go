package main

import (
	"fmt"
	"time"
)

// startOfTime is the start time of the first pod of every cluster.
var startOfTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// boundImportance sets the fields of an assigned pod that preemption compares. In some clusters pods of a node have
// started at the same time; some have not started yet. Then their names decide: kube-scheduler sorts such pods in any
// order, and the oracle by name.
func (g *generator) boundImportance(metadata, spec, status object) {
	if g.preemption == 0 {
		return
	}
	if g.uniform {
		g.alike(spec)
		spec["priority"] = pick(g.rng, 5, 5, 5, 100)
	} else if g.chance(0.9) {
		spec["priority"] = pick(g.rng, -10, 0, 0, 5, 5, 100, 1000)
	}
	if g.uniform || g.chance(0.9) {
		// The same on several nodes, never on one. The youngest is evicted first.
		node := spec["nodeName"]
		if g.startedOn[node] == 0 || !g.chance(g.equalAges) {
			g.startedOn[node]++
		}
		started := startOfTime.Add(-time.Duration(g.startedOn[node]) * time.Second)
		if !g.uniform {
			started = started.Add(time.Duration(g.IntN(3)) * time.Hour)
		}
		status["startTime"] = started.Format(time.RFC3339)
	}
	if g.chance(0.12) {
		metadata["deletionTimestamp"] = "2026-02-02T03:04:05Z"
		metadata["deletionGracePeriodSeconds"] = 30
		if g.chance(0.7) {
			condition := object{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
			if g.chance(0.2) {
				condition[pick(g.rng, "status", "reason")] = pick(g.rng, "False", "EvictionByEvictionAPI")
			}
			g.ending = append(g.ending, spec["nodeName"].(string))
			conditions, _ := status["conditions"].(array)
			status["conditions"] = append(conditions, condition)
		}
	}
}

// pendingImportance sets the fields that allow a pending pod to preempt others.
func (g *generator) pendingImportance(spec, status object) {
	if !g.chance(min(1, g.preemption*1.3)) {
		return
	}
	if g.uniform {
		g.alike(spec)
	}
	spec["priority"] = pick(g.rng, 0, 5, 100, 1000, 1000, 2000001000)
	switch roll := g.Float64(); {
	case roll < 0.06:
		spec["preemptionPolicy"] = "Never"
	case roll < 0.1:
		spec["preemptionPolicy"] = "PreemptLowerPriority"
	case roll < 0.25:
		status["nominatedNodeName"] = g.someNodeName()
		if len(g.ending) > 0 && g.chance(0.6) {
			status["nominatedNodeName"] = pick(g.rng, g.ending...)
		}
	}
}

// alike sets the same requests in all pods of a uniform cluster.
func (g *generator) alike(spec object) {
	containers := spec["containers"].(array)
	for i, c := range containers {
		delete(c.(object), "ports")
		c.(object)["resources"] = object{}
		if i == 0 {
			c.(object)["resources"] = object{"requests": object{"cpu": "1", "memory": "64Mi"}}
		}
	}
	delete(spec, "resources")
	delete(spec, "overhead")
	delete(spec, "initContainers")
}

// budgets draws PodDisruptionBudgets: some exhausted, some overlapping, some that match nothing.
func (g *generator) budgets() (items array) {
	for i, namespace := range spreadNamespaces {
		for j := range g.between(0, 3) {
			spec := object{"minAvailable": 1}
			if selector := g.podSelector(object{"app": pick(g.rng, appNames...)}); selector != nil {
				spec["selector"] = selector
			}
			status := object{"disruptionsAllowed": pick(g.rng, 0, 0, 1, 2, 5),
				"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
			if g.chance(0.2) {
				status["disruptedPods"] = object{fmt.Sprintf("bound-%d", g.IntN(20)): "2026-01-02T03:04:05Z"}
			}
			items = append(items, object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
				"metadata": object{"name": fmt.Sprintf("budget-%d-%d", i, j), "namespace": namespace}, "spec": spec, "status": status})
		}
	}
	return items
}
