package main

import (
	"slices"

	"sigs.k8s.io/yaml"
)

func toYAML(v any) ([]byte, error) { return yaml.Marshal(v) }

// pluginWeight is a plugin with its default weight; 0: it has no score.
type pluginWeight struct {
	name   string
	weight int
}

// plugins in their default order.
var plugins = []pluginWeight{
	{"SchedulingGates", 0}, {"PrioritySort", 0}, {"NodeName", 0}, {"NodeUnschedulable", 0}, {"TaintToleration", 3},
	{"NodeAffinity", 2}, {"NodePorts", 0}, {"NodeResourcesFit", 1}, {"VolumeRestrictions", 0}, {"NodeVolumeLimits", 0},
	{"VolumeBinding", 1}, {"VolumeZone", 0}, {"PodTopologySpread", 2}, {"InterPodAffinity", 2}, {"DynamicResources", 2},
	{"DefaultPreemption", 0}, {"NodeResourcesBalancedAllocation", 1}, {"ImageLocality", 1}, {"DefaultBinder", 0},
	{"NodeDeclaredFeatures", 0},
}

// elevenPlugins evaluate only nodes and pods, and each pod by itself.
var elevenPlugins = []string{
	"SchedulingGates", "PrioritySort", "NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts",
	"NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder",
}

var (
	filterPlugins = []string{
		"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
		"NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures",
	}
	scorePlugins = []string{
		"TaintToleration", "NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality",
		"VolumeBinding", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
	}
	// These plugins work without the result of their PreFilter or PreScore; the others would only fail.
	preFilterOptional = []string{"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity"}
	preScoreOptional  = []string{"NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"}
)

// config draws a configuration and sets the schedulers that pods may name. About a third are the default one, more if
// all plugins take part.
func (g *generator) config() object {
	config := object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	if g.chance(0.2) {
		// None of these may have an effect.
		config["parallelism"] = g.between(1, 32)
		config["percentageOfNodesToScore"] = g.between(0, 100)
	}
	plain := 0.35
	if len(g.plugins) == len(plugins) {
		plain = 0.75
	}
	g.schedulers = []string{"default-scheduler"}
	if g.chance(0.05) {
		g.schedulers[0] = "custom"
	}
	if g.chance(0.2) {
		g.schedulers = append(g.schedulers, "second")
		if g.chance(0.3) {
			g.schedulers = append(g.schedulers, "third")
		}
	}
	profiles := array{}
	for _, name := range g.schedulers {
		profile := object{"schedulerName": name}
		args := g.pluginConfig()
		if g.chance(plain) {
			if len(g.plugins) < len(plugins) {
				profile["plugins"] = object{"multiPoint": g.multiPoint(true)}
			} else if g.chance(0.3) {
				profile["plugins"] = object{"multiPoint": g.reweighted()}
			}
			if g.chance(0.5) {
				args = nil
			}
		} else {
			profile["plugins"] = g.pluginSets()
		}
		if len(args) > 0 {
			profile["pluginConfig"] = args
		}
		if len(g.schedulers) == 1 && name == "default-scheduler" && g.chance(0.1) {
			delete(profile, "schedulerName")
		}
		if g.chance(0.05) {
			profile["percentageOfNodesToScore"] = g.between(0, 100)
		}
		profiles = append(profiles, profile)
	}
	config["profiles"] = profiles
	return config
}

// reweighted keeps the default plugins and changes their weights.
func (g *generator) reweighted() object {
	enabled := array{}
	for _, name := range some(g.rng, g.between(1, 3), scorePlugins) {
		enabled = append(enabled, object{"name": name, "weight": pick(g.rng, 1, 4, 10, 100)})
	}
	return object{"enabled": enabled}
}

func (g *generator) multiPoint(plain bool) object {
	enabled := array{}
	drop := 0.0
	if !plain && g.chance(0.2) {
		drop = 0.25
	}
	for _, plugin := range g.plugins {
		if plugin.name != "PrioritySort" && plugin.name != "DefaultBinder" && g.chance(drop) {
			continue
		}
		entry := object{"name": plugin.name}
		if plugin.weight > 0 {
			entry["weight"] = plugin.weight
			if !plain && g.chance(0.3) {
				entry["weight"] = pick(g.rng, 1, 2, 5, 10, 100, 0, 1000000)
			}
			if !plain && g.chance(0.1) {
				delete(entry, "weight")
			}
		}
		enabled = append(enabled, entry)
	}
	if !plain && g.chance(0.3) {
		g.Shuffle(len(enabled), func(i, j int) { enabled[i], enabled[j] = enabled[j], enabled[i] })
	}
	return object{"disabled": array{object{"name": "*"}}, "enabled": enabled}
}

// pluginSets draws multiPoint and sometimes sets at single extension points.
func (g *generator) pluginSets() object {
	multiPoint := g.multiPoint(false)
	present := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !slices.ContainsFunc(multiPoint["enabled"].(array), func(e any) bool { return e.(object)["name"] == name })
		})
	}
	sets := object{"multiPoint": multiPoint}
	if g.chance(0.15) {
		sets["filter"] = g.pluginSet(present(filterPlugins), false)
	}
	if g.chance(0.2) {
		sets["score"] = g.pluginSet(present(scorePlugins), true)
	}
	if g.chance(0.05) {
		sets["preFilter"] = disabled(some(g.rng, g.between(0, 2), preFilterOptional))
	}
	if g.chance(0.05) {
		sets["preScore"] = disabled(some(g.rng, g.between(0, 2), preScoreOptional))
	}
	if g.chance(0.03) {
		sets["preEnqueue"] = disabled([]string{"SchedulingGates"})
	}
	return sets
}

// pluginSet enables some plugins explicitly, which orders them first and may change their weights, and disables some
// others. All of them are in multiPoint too, because a plugin at only one extension point lacks the results that it
// computes at another.
func (g *generator) pluginSet(names []string, weights bool) object {
	if g.chance(0.1) {
		return disabled([]string{"*"})
	}
	explicit := some(g.rng, g.between(0, 2), names)
	set := disabled(some(g.rng, g.between(0, 2), without(names, explicit)))
	enabled := array{}
	for _, name := range explicit {
		entry := object{"name": name}
		if weights && g.chance(0.7) {
			entry["weight"] = pick(g.rng, 1, 3, 7, 50)
		}
		enabled = append(enabled, entry)
	}
	if len(enabled) > 0 {
		set["enabled"] = enabled
	}
	return set
}

func disabled(names []string) object {
	list := array{}
	for _, name := range names {
		list = append(list, object{"name": name})
	}
	return object{"disabled": list}
}

func (g *generator) pluginConfig() array {
	args := array{}
	add := func(name string, value object) {
		if g.chance(0.3) {
			value["apiVersion"] = "kubescheduler.config.k8s.io/v1"
			value["kind"] = name + "Args"
		}
		args = append(args, object{"name": name, "args": value})
	}
	if g.chance(0.15) {
		add("NodeAffinity", g.addedAffinity())
	}
	if g.chance(0.6) {
		add("NodeResourcesFit", g.fitArgs())
	}
	if g.chance(0.25) {
		add("NodeResourcesBalancedAllocation", g.balancedArgs())
	}
	if g.affinities > 0 && g.chance(0.4) {
		add("InterPodAffinity", g.podAffinityArgs())
	}
	if g.topology > 0 && g.chance(0.4) {
		add("PodTopologySpread", g.spreadArgs())
	}
	if g.volumes > 0 && g.chance(0.4) {
		add("VolumeBinding", g.volumeArgs())
	}
	if g.preemption > 0 && g.chance(0.3) {
		// These fields have no effect: every node is a candidate.
		add("DefaultPreemption", object{"minCandidateNodesPercentage": g.between(0, 100), "minCandidateNodesAbsolute": g.between(1, 200)})
	}
	return args
}

// addedAffinity draws terms that parse; kube-scheduler does not start with others.
func (g *generator) addedAffinity() object {
	affinity := object{}
	if g.chance(0.5) {
		terms := array{}
		for range g.between(1, 2) {
			terms = append(terms, g.selectorTerm(0))
		}
		affinity["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": terms}
	}
	if g.chance(0.6) {
		preferred := array{}
		for range g.between(0, 3) {
			preferred = append(preferred, object{"weight": pick(g.rng, 0, 1, 20, 100), "preference": g.selectorTerm(0)})
		}
		affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
	}
	return object{"addedAffinity": affinity}
}

func (g *generator) fitArgs() object {
	args := object{}
	if g.chance(0.3) {
		args["ignoredResources"] = some(g.rng, g.between(1, 2), append([]string{"cpu", "hugepages-2Mi"}, extendedNames...))
	}
	if g.chance(0.2) {
		args["ignoredResourceGroups"] = some(g.rng, 1, []string{"example.com", "nvidia.com", "kubernetes.io"})
	}
	if g.chance(0.75) {
		strategy := object{"type": pick(g.rng, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")}
		if g.chance(0.7) {
			strategy["resources"] = g.weightedResources(true)
		}
		if g.devices > 0 && g.chance(0.7) {
			resources := array{object{"name": "memory", "weight": 1}}
			for range g.between(1, 3) {
				resources = append(resources, object{"name": pick(g.rng, deviceResources...), "weight": pick(g.rng, 1, 3, 10)})
			}
			strategy["resources"] = resources
		}
		if strategy["type"] == "RequestedToCapacityRatio" {
			strategy["requestedToCapacityRatio"] = object{"shape": g.shape()}
		}
		args["scoringStrategy"] = strategy
	}
	return args
}

func (g *generator) weightedResources(duplicates bool) array {
	names := append([]string{"cpu", "memory", "cpu", "memory", "ephemeral-storage", "pods", "unheard-of"}, scalarNames...)
	resources := array{}
	var seen []string
	for range g.between(1, 4) {
		name := pick(g.rng, names...)
		if !duplicates && slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		resource := object{"name": name}
		if duplicates {
			if g.chance(0.8) {
				resource["weight"] = pick(g.rng, 0, 1, 2, 3, 10, 100)
			}
		} else if g.chance(0.6) {
			resource["weight"] = 1
		}
		resources = append(resources, resource)
	}
	return resources
}

func (g *generator) shape() array {
	shape := array{}
	for _, utilization := range some(g.rng, g.between(1, 4), []int{0, 10, 25, 33, 50, 60, 77, 90, 100}) {
		shape = append(shape, object{"utilization": utilization, "score": g.between(0, 10)})
	}
	return shape
}

func (g *generator) balancedArgs() object {
	if g.chance(0.1) {
		return object{}
	}
	return object{"resources": g.weightedResources(false)}
}

func (g *generator) podAffinityArgs() object {
	args := object{}
	if g.chance(0.7) {
		args["hardPodAffinityWeight"] = pick(g.rng, 0, 1, 5, 50, 100)
	}
	if g.chance(0.5) {
		args["ignorePreferredTermsOfExistingPods"] = g.chance(0.7)
	}
	return args
}

func (g *generator) spreadArgs() object {
	if g.chance(0.2) {
		return object{"defaultingType": "System"}
	}
	constraints := array{}
	for _, key := range some(g.rng, g.between(0, 3), []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "disk"}) {
		constraints = append(constraints, object{"maxSkew": g.between(1, 3), "topologyKey": key,
			"whenUnsatisfiable": pick(g.rng, "DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway")})
	}
	return object{"defaultingType": "List", "defaultConstraints": constraints}
}

func (g *generator) volumeArgs() object {
	args := object{}
	if g.chance(0.3) {
		args["bindTimeoutSeconds"] = g.between(0, 600)
	}
	if g.chance(0.8) {
		args["shape"] = g.shape()
	}
	return args
}
