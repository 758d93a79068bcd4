package main

import (
	"fmt"
	"slices"
	"strings"
)

// A focus limits a comparison to one family of plugins: configurations contain only its plugins and those that depend
// on nodes and pods only, and clusters contain many of its objects. A focus without a list has all plugins. The focus
// contest has pods that preempt others for various reasons. The focus chance has a few nodes, and volumes of equal size,
// several capacities of a class and several missing drivers on a node, among which kube-scheduler chooses by chance: each
// of Berth's records must be one of several evaluations.
var focuses = []struct {
	name    string
	plugins []string
}{
	{"mixed", nil},
	{"topology-spread", []string{"PodTopologySpread"}},
	{"pod-affinity", []string{"InterPodAffinity"}},
	{"volumes", []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}},
	{"preemption", []string{"DefaultPreemption"}},
	{"features", []string{"NodeDeclaredFeatures"}},
	{"contest", nil},
	{"extenders", nil},
	{"chance", []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}},
	{devices, []string{"DynamicResources"}},
}

const (
	mixed   = "mixed"
	contest = "contest"
	chance  = "chance"
	// extended clusters have extenders that accept and reject nodes at random.
	extended = "extenders"
)

func focusList() []string {
	var names []string
	for _, focus := range focuses {
		names = append(names, focus.name)
	}
	return names
}

func focusNames() string { return strings.Join(focusList(), ", ") }

// focusPlugins are the plugins that configurations of a focus may contain.
func focusPlugins(name string) ([]pluginWeight, error) {
	for _, focus := range focuses {
		if focus.name != name {
			continue
		}
		return slices.DeleteFunc(slices.Clone(plugins), func(p pluginWeight) bool {
			return focus.plugins != nil && !slices.Contains(elevenPlugins, p.name) && !slices.Contains(focus.plugins, p.name)
		}), nil
	}
	return nil, fmt.Errorf("there is no focus %q; there are %s", name, focusNames())
}

// character draws the properties of this cluster.
func (g *generator) character() {
	defer func() { g.uniform = g.tight && g.preemption > 0 && g.focus != contest && g.chance(0.35) }()
	g.unusual = pick(g.rng, 0, 0.05, 0.1, 0.25)
	g.wild = g.chance(0.04)
	g.taints = pick(g.rng, 0, 0.2, 0.5, 0.9)
	g.labels = pick(g.rng, 0.3, 0.8, 0.95)
	g.images = pick(g.rng, 0, 0.5, 0.9)
	g.scalars = pick(g.rng, 0, 0.1, 0.4)
	g.common = some(g.rng, 4, scalarNames)
	g.podCPU = pick(g.rng, 200, 800, 2500)
	g.podMemory = pick(g.rng, 256, 1024, 4096)
	g.cores = 32
	g.startedOn = make(map[any]int)
	g.equalAges = pick(g.rng, 0, 0, 0.3, 0.8)
	g.together, g.home = pick(g.rng, 0, 0.5, 0.9), pick(g.rng, podNamespaces...)
	g.storage.claims = make(map[string][]string)
	g.storage.required = pick(g.rng, append(drivers, "", "csi.example.com")...)
	amounts := []*float64{&g.topology, &g.affinities, &g.volumes, &g.preemption, &g.features}
	if g.focus != mixed && g.focus != extended {
		g.focused(amounts)
		return
	}
	for _, amount := range amounts {
		*amount = pick(g.rng, 0, 0, 0.1, 0.3, 0.6)
	}
	if g.preemption > 0 && g.chance(0.6) {
		g.cores, g.tight = 4, true
		g.podCPU = pick(g.rng, 500, 1000, 1800)
	}
}

// focused reduces the other reasons for rejections. The amounts are in the order of the focuses.
func (g *generator) focused(amounts []*float64) {
	g.taints = pick(g.rng, 0, 0, 0.2)
	g.labels = pick(g.rng, 0.5, 0.8, 0.95, 1)
	g.images, g.scalars = 0, pick(g.rng, 0, 0, 0.1)
	g.podCPU, g.podMemory = pick(g.rng, 200, 800), pick(g.rng, 256, 1024)
	g.wild = false
	switch g.focus {
	case contest:
		g.contest()
		return
	case devices:
		g.devices = pick(g.rng, 0.5, 0.8, 1)
		g.podCPU, g.podMemory = 10, 16
		g.stock.claims = make(map[string][]string)
		return
	case chance:
		g.volumes = pick(g.rng, 0.4, 0.7, 0.9)
		if g.chance(0.7) {
			g.storage.required, g.storage.alsoRequired = "csi.example.com", "csi.other.com"
		}
		return
	}
	for i, focus := range focuses[1:] {
		if focus.name == g.focus {
			*amounts[i] = pick(g.rng, 0.3, 0.6, 0.9)
		}
	}
	if g.focus == "preemption" {
		g.cores, g.tight = pick(g.rng, 2, 4, 8), g.chance(0.8)
		g.podCPU = pick(g.rng, 500, 1000, 1800)
	}
}

// contest fills a few nodes with conflicting pods, with sufficient CPU for all of them.
func (g *generator) contest() {
	g.unusual, g.scalars = pick(g.rng, 0, 0.05), 0
	g.labels, g.together = 0.95, 0.9
	g.tight, g.preemption = true, 0.9
	g.cores, g.podCPU, g.podMemory = 64, 100, 64
	g.topology, g.affinities = pick(g.rng, 0, 0.4, 0.7), pick(g.rng, 0, 0.4, 0.7)
	g.volumes, g.features = pick(g.rng, 0, 0.4, 0.7), pick(g.rng, 0, 0, 0.1)
}

// others draws the amount of objects that are unrelated to the focus.
func (g *generator) others() float64 {
	if g.focus == mixed {
		return 1
	}
	if g.focus == "preemption" || g.focus == contest {
		return 0.1
	}
	return 0.4
}
