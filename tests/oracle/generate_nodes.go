package main

import "fmt"

// Label keys of nodes and selectors, with their values.
var labelValues = map[string][]string{
	"disk":                          {"ssd", "hdd", "nvme", ""},
	"gen":                           {"1", "2", "5", "7", "10", "12", "007", "x", "99999999999999999999", "9223372036854775807"},
	"arch":                          {"amd64", "arm64"},
	"topology.kubernetes.io/zone":   {"a", "b", "c"},
	"topology.kubernetes.io/region": {"eu", "us"},
	"example.com/pool":              {"batch", "web", "db"},
}

var labelKeys = []string{
	"disk", "gen", "arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "example.com/pool",
}

var (
	taintKeys = []string{
		"dedicated", "gpu", "example.com/maintenance", "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable",
	}
	taintValues = []string{"", "a", "b", "5", "10", "007"}
	effects     = []string{"NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"}
)

func (g *generator) node(name string) object {
	labels := object{"kubernetes.io/hostname": name}
	for _, key := range labelKeys {
		if g.chance(g.labels) {
			labels[key] = pick(g.rng, labelValues[key]...)
		}
	}
	if g.chance(0.03) {
		labels["failure-domain.beta.kubernetes.io/zone"] = pick(g.rng, "a", "z")
	}
	g.storageLabels(labels)
	if g.related() && g.chance(0.05) {
		delete(labels, "kubernetes.io/hostname")
	}
	metadata := object{"name": name}
	if g.chance(0.97) {
		metadata["labels"] = labels
	}
	if g.chance(0.9) {
		metadata["uid"] = "node-uid-" + name
	}
	spec := object{}
	if g.chance(0.06) {
		spec["unschedulable"] = true
	}
	if taints := g.nodeTaints(); len(taints) > 0 {
		spec["taints"] = taints
	}
	node := object{"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": g.nodeStatus()}
	if len(spec) > 0 || g.chance(0.5) {
		node["spec"] = spec
	}
	return node
}

func (g *generator) nodeTaints() array {
	var taints array
	for g.chance(g.taints*0.6) && len(taints) < 5 {
		taint := object{"key": pick(g.rng, taintKeys...), "effect": pick(g.rng, effects...)}
		if value := pick(g.rng, taintValues...); value != "" || g.chance(0.5) {
			taint["value"] = value
		}
		if g.chance(g.unusual * 0.3) {
			taint["effect"] = pick[any](g.rng, "", "Sometimes", nil)
		}
		taints = append(taints, taint)
		if g.chance(0.1) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// supply is the amount of a scalar resource on a node: often small, so that it is exhausted.
func (g *generator) supply(name string) any {
	switch name {
	case "hugepages-2Mi":
		return pick[any](g.rng, "0", "4Mi", "64Mi", "1Gi")
	case "hugepages-1Gi":
		return pick[any](g.rng, "0", "2Gi", "16Gi")
	default:
		return pick[any](g.rng, "0", "1", "2", "4", "8", "64")
	}
}

func (g *generator) nodeStatus() object {
	cpu, memory := g.between(1, g.cores)*1000, g.between(1, 2*g.cores)*1024
	allocatable := object{"cpu": g.cpu(cpu), "memory": g.memory(memory), "pods": pick[any](g.rng, "110", "20", "10", "250", number("30"))}
	if g.uniform {
		allocatable["cpu"], allocatable["memory"] = "4", "8Gi"
	}
	if g.chance(0.85) {
		allocatable["ephemeral-storage"] = g.memory(g.between(1, 100) * 1024)
	}
	if g.scalars > 0 {
		for _, name := range g.common {
			if g.chance(0.85) {
				allocatable[name] = g.supply(name)
			}
		}
	}
	switch roll := g.Float64(); {
	case roll < 0.02:
		delete(allocatable, "pods")
	case roll < 0.03:
		allocatable["pods"] = pick[any](g.rng, "0", "1", "2", "1500m", "1k")
	case roll < 0.04:
		delete(allocatable, pick(g.rng, "cpu", "memory"))
	case roll < 0.05:
		allocatable[pick(g.rng, "cpu", "memory")] = "0"
	case roll < 0.05+g.unusual*0.1:
		allocatable["cpu"] = g.unusualQuantity("0.5")
	}
	status := object{}
	switch roll := g.Float64(); {
	case roll < 0.9:
		status["allocatable"] = allocatable
		if g.chance(0.5) {
			status["capacity"] = object{"cpu": "64", "memory": "256Gi", "pods": "110"}
		}
	case roll < 0.98:
		// The API server sets a missing allocatable from the capacity.
		status["capacity"] = allocatable
	case roll < 0.99:
		status["allocatable"] = object{}
		status["capacity"] = allocatable
	}
	g.nodeFeatures(status)
	if images := g.nodeImages(); len(images) > 0 {
		status["images"] = images
	}
	if g.chance(0.3) {
		status["conditions"] = array{object{"type": "Ready", "status": pick(g.rng, "True", "False", "Unknown")}}
	}
	return status
}

// Images by the name in a pod, with the names that a node may report for them.
var imageNames = []struct {
	pod  string
	node []string
}{
	{"nginx", []string{"nginx:latest"}},
	{"nginx:1.25", []string{"nginx:1.25", "library.example.org:443/nginx:1.25"}},
	{"repo:5000/img", []string{"repo:5000/img:latest"}},
	{"repo:5000/img:v1", []string{"repo:5000/img:v1", "repo:5000/img@sha256:0123456789abcdef"}},
	{"registry.example.org/team/app@sha256:0123456789abcdef", []string{"registry.example.org/team/app@sha256:0123456789abcdef"}},
	{"library.example.org:443/big", []string{"library.example.org:443/big:latest"}},
	{"huge:v2", []string{"huge:v2", "huge:latest"}},
	{"Upper/Case", []string{"upper/case:latest", "Upper/Case:latest"}},
	{"bare", []string{"bare"}},
	{"model/weights:7b", []string{"model/weights:7b"}},
	{"a:b:c", []string{"a:b:c"}},
	{"", []string{":latest"}},
}

var imageSizes = []int64{
	1000, 23 << 20, 24117249, 50_000_000, 250 << 20, 300_000_001, 500 << 20, 800 << 20, 1000 << 20, 2_500_000_000, 7_000_000_000,
}

func (g *generator) nodeImages() array {
	if !g.chance(g.images) {
		return nil
	}
	var images array
	for i, image := range imageNames {
		if !g.chance(0.4) {
			continue
		}
		names := image.node
		if g.chance(0.2) {
			names = names[:1]
		}
		// Most nodes report the same size of an image; otherwise the first one counts.
		size := imageSizes[(i*7)%len(imageSizes)]
		if g.chance(0.1) {
			size = pick(g.rng, imageSizes...)
		}
		entry := object{"names": names, "sizeBytes": size}
		if g.chance(0.02) {
			delete(entry, "sizeBytes")
		}
		if g.wild && g.chance(0.05) {
			entry["sizeBytes"] = pick(g.rng, int64(-5), int64(1)<<62)
		}
		images = append(images, entry)
		if g.chance(0.03) {
			images = append(images, object{"names": names[:1], "sizeBytes": pick(g.rng, imageSizes...)})
		}
	}
	if g.chance(0.05) {
		images = append(images, object{"names": nil, "sizeBytes": 5})
	}
	return images
}

// someNodeName is usually an existing node.
func (g *generator) someNodeName() string {
	if len(g.nodeNames) == 0 || g.chance(0.05) {
		return fmt.Sprintf("ghost-%d", g.IntN(3))
	}
	return pick(g.rng, g.nodeNames...)
}
