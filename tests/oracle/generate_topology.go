package main

import "fmt"

// Pod labels, so that services, workloads, affinity and spreading select some pods.
var (
	appNames  = []string{"web", "db", "cache"}
	tierNames = []string{"front", "back"}
	hashes    = []string{"7f9c", "b41d"}
	// Topology keys, the usual ones first; no node has the last one.
	topologyKeys = []string{
		"topology.kubernetes.io/zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "kubernetes.io/hostname",
		"topology.kubernetes.io/zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "kubernetes.io/hostname",
		"topology.kubernetes.io/region", "disk", "example.com/pool", "example.com/absent",
	}
	spreadNamespaces = []string{"default", "kube-system", "team-a", "team-b"}
)

// related returns whether pods of this cluster have affinity or spreading.
func (g *generator) related() bool { return g.topology > 0 || g.affinities > 0 }

// podLabels draws the labels of any pod.
func (g *generator) podLabels() object {
	labels := object{}
	if !g.related() && g.preemption == 0 {
		if g.chance(0.3) {
			labels["app"] = pick(g.rng, "web", "db")
		}
		return labels
	}
	if g.chance(0.9) {
		labels["app"] = pick(g.rng, appNames...)
	}
	if g.chance(0.6) {
		labels["tier"] = pick(g.rng, tierNames...)
	}
	if g.chance(0.5) {
		labels["pod-template-hash"] = pick(g.rng, hashes...)
	}
	return labels
}

// namespaces draws the Namespace objects; some are missing.
func (g *generator) namespaces() (items array) {
	for _, name := range spreadNamespaces {
		if g.chance(0.15) {
			continue
		}
		labels := object{"kubernetes.io/metadata.name": name}
		if g.chance(0.7) {
			labels["env"] = pick(g.rng, "prod", "dev")
		}
		if g.chance(0.4) {
			labels["team"] = pick(g.rng, "a", "b", "")
		}
		metadata := object{"name": name, "labels": labels}
		if g.chance(0.1) {
			delete(metadata, "labels")
		}
		items = append(items, object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
	}
	return items
}

// workloads draws the owners of pods; their selectors are the source of the default spreading constraints.
func (g *generator) workloads() (items array) {
	for i, namespace := range spreadNamespaces {
		for j := range g.between(0, 3) {
			spec := object{"ports": array{object{"port": 80}}}
			switch roll := g.Float64(); {
			case roll < 0.1:
			case roll < 0.15:
				spec["selector"] = object{}
			default:
				spec["selector"] = g.simpleSelector()
			}
			items = append(items, object{"apiVersion": "v1", "kind": "Service",
				"metadata": object{"name": fmt.Sprintf("service-%d-%d", i, j), "namespace": namespace}, "spec": spec})
		}
		for _, app := range appNames {
			for _, kind := range controllerKinds {
				if g.chance(0.4) {
					items = append(items, g.controller(kind.apiVersion, kind.kind, namespace, app))
				}
			}
		}
	}
	return items
}

var controllerKinds = []struct{ apiVersion, kind string }{
	{"v1", "ReplicationController"}, {"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"},
}

// simpleSelector contains only equalities.
func (g *generator) simpleSelector() object {
	selector := object{"app": pick(g.rng, appNames...)}
	if g.chance(0.3) {
		selector["tier"] = pick(g.rng, tierNames...)
	}
	return selector
}

func (g *generator) controller(apiVersion, kind, namespace, app string) object {
	matched := object{"app": app}
	if g.chance(0.2) {
		matched["tier"] = pick(g.rng, tierNames...)
	}
	spec := object{"template": object{"metadata": object{"labels": matched},
		"spec": object{"containers": array{object{"name": "c", "image": "x"}}}}}
	switch {
	case kind == "ReplicationController":
		if g.chance(0.8) {
			spec["selector"] = matched
		}
	case g.chance(g.unusual * 0.3):
		spec["selector"] = pick[any](g.rng, nil, object{}, g.brokenSelector())
	default:
		spec["selector"] = object{"matchLabels": matched}
		if g.chance(0.2) {
			spec["selector"] = object{"matchExpressions": array{object{"key": "app", "operator": "In", "values": array{app}}}}
		}
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = "s"
	}
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": app, "namespace": namespace}, "spec": spec}
}

// owner draws an owner reference, usually to an existing object.
func (g *generator) owner(labels object) array {
	app, ok := labels["app"].(string)
	if !ok || g.chance(0.05) {
		app = "nobody"
	}
	kind := pick(g.rng, controllerKinds...)
	reference := object{"apiVersion": kind.apiVersion, "kind": kind.kind, "name": app, "uid": "owner-" + app, "controller": true}
	switch roll := g.Float64(); {
	case roll < 0.05:
		reference["apiVersion"] = "apps/v1beta1"
	case roll < 0.1:
		delete(reference, "controller")
	case roll < 0.14:
		reference["kind"] = pick(g.rng, "Job", "DaemonSet")
	}
	return array{reference}
}

// podSelector draws a label selector over pods, usually one that matches pods like this one.
func (g *generator) podSelector(own object) any {
	switch roll := g.Float64(); {
	case roll < 0.03:
		return nil
	case roll < 0.07:
		return object{}
	case roll < 0.07+g.unusual*0.08:
		return g.brokenSelector()
	case roll < 0.55 && own["app"] != nil:
		return object{"matchLabels": object{"app": own["app"]}}
	case roll < 0.75:
		return object{"matchLabels": g.simpleSelector()}
	}
	expressions := array{}
	for range g.between(1, 2) {
		expressions = append(expressions, pick(g.rng,
			object{"key": "app", "operator": "In", "values": array{pick(g.rng, appNames...), pick(g.rng, appNames...)}},
			object{"key": "app", "operator": "NotIn", "values": array{pick(g.rng, appNames...)}},
			object{"key": "tier", "operator": "Exists"},
			object{"key": "tier", "operator": "DoesNotExist"},
			object{"key": "tier", "operator": "In", "values": array{""}}))
	}
	return object{"matchExpressions": expressions}
}

// brokenSelector does not parse.
func (g *generator) brokenSelector() object {
	return pick(g.rng,
		object{"matchExpressions": array{object{"key": "app", "operator": "In", "values": array{}}}},
		object{"matchExpressions": array{object{"key": "app", "operator": "Exists", "values": array{"web"}}}},
		object{"matchExpressions": array{object{"key": "app", "operator": "Gt", "values": array{"1"}}}},
		object{"matchExpressions": array{object{"key": "bad key!", "operator": "Exists"}}},
		object{"matchLabels": object{"app": "bad value!"}},
		object{"matchLabels": object{"": "web"}})
}

// spreadConstraints draws spec.topologySpreadConstraints.
func (g *generator) spreadConstraints(labels object) array {
	var constraints array
	for range g.between(1, 3) {
		constraint := object{
			"maxSkew":           pick(g.rng, 1, 1, 1, 2, 3, 5),
			"topologyKey":       pick(g.rng, topologyKeys...),
			"whenUnsatisfiable": pick(g.rng, "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
		}
		if selector := g.podSelector(labels); selector != nil {
			constraint["labelSelector"] = selector
		}
		if g.chance(0.25) && constraint["whenUnsatisfiable"] == "DoNotSchedule" {
			constraint["minDomains"] = pick(g.rng, 1, 2, 3, 4, 10)
		}
		for _, policy := range []string{"nodeAffinityPolicy", "nodeTaintsPolicy"} {
			if g.chance(0.3) {
				constraint[policy] = pick(g.rng, "Honor", "Ignore")
			}
		}
		if g.chance(0.15) {
			keys := some(g.rng, g.between(1, 2), []string{"pod-template-hash", "tier", "absent"})
			constraint["matchLabelKeys"] = keys
			if selector, ok := constraint["labelSelector"].(object); ok && g.chance(0.7) {
				constraint["labelSelector"] = merged(selector, labels, keys, "In")
			}
		}
		constraints = append(constraints, constraint)
	}
	return constraints
}

// merged adds what the API server derives from matchLabelKeys or mismatchLabelKeys.
func merged(selector, labels object, keys []string, operator string) object {
	out := object{}
	for name, value := range selector {
		out[name] = value
	}
	expressions := array{}
	if existing, ok := out["matchExpressions"].(array); ok {
		expressions = append(expressions, existing...)
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			expressions = append(expressions, object{"key": key, "operator": operator, "values": array{value}})
		}
	}
	if len(expressions) > 0 {
		out["matchExpressions"] = expressions
	}
	return out
}

// podAffinity draws the two pod parts of spec.affinity.
func (g *generator) podAffinity(labels object) object {
	affinity := object{}
	for _, part := range []struct {
		name     string
		required float64
	}{{"podAffinity", 0.3}, {"podAntiAffinity", 0.5}} {
		if !g.chance(0.65) {
			continue
		}
		terms := object{}
		if g.chance(part.required) {
			required := array{}
			for range pick(g.rng, 1, 1, 1, 2) {
				required = append(required, g.affinityTerm(labels))
			}
			terms["requiredDuringSchedulingIgnoredDuringExecution"] = required
		}
		if g.chance(0.5) {
			preferred := array{}
			for range g.between(0, 3) {
				weight := pick(g.rng, 1, 2, 10, 50, 100)
				if g.chance(g.unusual * 0.1) {
					weight = pick(g.rng, 0, -1, 101)
				}
				preferred = append(preferred, object{"weight": weight, "podAffinityTerm": g.affinityTerm(labels)})
			}
			terms["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
		}
		affinity[part.name] = terms
	}
	return affinity
}

func (g *generator) affinityTerm(labels object) object {
	term := object{"topologyKey": pick(g.rng, topologyKeys...)}
	if selector := g.podSelector(labels); selector != nil {
		term["labelSelector"] = selector
	}
	if g.chance(g.unusual * 0.1) {
		term["topologyKey"] = ""
	}
	switch roll := g.Float64(); {
	case roll < 0.15:
		term["namespaces"] = some(g.rng, g.between(1, 2), spreadNamespaces)
	case roll < 0.2:
		term["namespaces"] = array{"nowhere"}
	}
	if g.chance(0.25) {
		if selector := g.namespaceSelector(); !g.withoutNamespaceSelectors {
			term["namespaceSelector"] = selector
		}
	}
	if selector, ok := term["labelSelector"].(object); ok && g.chance(0.15) {
		field, operator := "matchLabelKeys", "In"
		if g.chance(0.3) {
			field, operator = "mismatchLabelKeys", "NotIn"
		}
		keys := []string{pick(g.rng, "pod-template-hash", "tier", "absent")}
		term[field] = keys
		term["labelSelector"] = merged(selector, labels, keys, operator)
	}
	return term
}

func (g *generator) namespaceSelector() object {
	if g.chance(g.unusual * 0.1) {
		return g.brokenSelector()
	}
	return pick(g.rng,
		object{}, object{},
		object{"matchLabels": object{"env": pick(g.rng, "prod", "dev")}},
		object{"matchLabels": object{"kubernetes.io/metadata.name": pick(g.rng, spreadNamespaces...)}},
		object{"matchExpressions": array{object{"key": "env", "operator": "NotIn", "values": array{"prod"}}}},
		object{"matchExpressions": array{object{"key": "team", "operator": "DoesNotExist"}}},
		object{"matchExpressions": array{object{"key": "team", "operator": "In", "values": array{"a", ""}}}})
}

// relations adds affinity and spreading to a pod.
func (g *generator) relations(metadata, spec object, share float64) {
	labels, _ := metadata["labels"].(object)
	if g.related() && g.chance(0.5) {
		metadata["ownerReferences"] = g.owner(labels)
	}
	if g.chance(g.topology * share) {
		spec["topologySpreadConstraints"] = g.spreadConstraints(labels)
	}
	if g.chance(g.affinities * share) {
		affinity, ok := spec["affinity"].(object)
		if !ok {
			affinity = object{}
		}
		for name, terms := range g.podAffinity(labels) {
			affinity[name] = terms
		}
		spec["affinity"] = affinity
	}
}
