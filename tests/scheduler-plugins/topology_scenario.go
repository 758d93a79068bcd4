package main

import (
	"fmt"
	"math/rand/v2"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

const (
	nic       = v1.ResourceName("example.com/nic")
	prefixed  = v1.ResourceName("pool.kubernetes.io/slots")
	hugePages = v1.ResourceName("hugepages-1Gi")
)

// Amounts of a resource, for zones and for requests.
var topologyAmounts = map[v1.ResourceName][]string{
	v1.ResourceCPU:              {"1", "2", "3", "4", "1500m", "500m", "8"},
	v1.ResourceMemory:           {"1Gi", "2Gi", "3Gi", "4G", "1500M", "8Gi"},
	hugePages:                   {"1Gi", "2Gi", "4Gi"},
	v1.ResourceEphemeralStorage: {"1Gi", "2Gi"},
	gpu:                         {"1", "2", "4"},
	nic:                         {"1", "2"},
	prefixed:                    {"1", "3"},
}

// generateTopologies creates nodes with few and small zones, of all policies and scopes, and pods of all QoS classes.
func generateTopologies(seed uint64) *topologyScenario {
	g := generator{rand.New(rand.NewPCG(seed, 31))}
	s := &topologyScenario{
		Seed: seed, Topologies: []*topologyv1alpha2.NodeResourceTopology{}, Steps: []topologyStep{},
		Weights: g.topologyWeights(), Discard: g.chance(0.2), scored: !g.chance(0.1),
	}
	for i := range 2 + g.IntN(4) {
		node := g.topologyNode(fmt.Sprintf("n%d", i))
		s.Nodes = append(s.Nodes, node)
		if g.chance(0.9) {
			s.Topologies = append(s.Topologies, g.topology(node, s.scored))
		}
	}
	if s.Discard {
		s.Steps = g.topologySteps(s.Nodes)
	}
	for i := range 4 {
		s.Pods = append(s.Pods, &topologyPod{
			Pod: g.topologyPod(fmt.Sprintf("p%d", i)), Reasons: map[string]string{}, Scores: map[string]map[string]int64{},
		})
	}
	return s
}

func (g generator) topologyWeights() []schedconfig.ResourceSpec {
	weights := []schedconfig.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	if g.chance(0.5) {
		weights = []schedconfig.ResourceSpec{}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, gpu} {
			weights = append(weights, schedconfig.ResourceSpec{Name: string(name), Weight: pick(g, int64(1), 2, 5, 100, -1)})
		}
	}
	return weights
}

func (g generator) topologyAmount(name v1.ResourceName) resource.Quantity {
	return resource.MustParse(pick(g, topologyAmounts[name]...))
}

func (g generator) topologyNode(name string) *v1.Node {
	allocatable := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("16"), v1.ResourceMemory: resource.MustParse("32Gi"),
		v1.ResourcePods: resource.MustParse("110"),
	}
	for _, name := range []v1.ResourceName{hugePages, v1.ResourceEphemeralStorage, gpu, nic, prefixed} {
		if g.chance(0.8) {
			allocatable[name] = resource.MustParse("8")
		} else if g.chance(0.3) {
			allocatable[name] = resource.MustParse("0")
		}
	}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: allocatable}}
}

func (g generator) topology(node *v1.Node, complete bool) *topologyv1alpha2.NodeResourceTopology {
	topology := &topologyv1alpha2.NodeResourceTopology{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	if g.chance(0.4) {
		topology.TopologyPolicies = []string{pick(g, "SingleNUMANodePodLevel", "SingleNUMANodePodLevel",
			"SingleNUMANodeContainerLevel", "SingleNUMANodeContainerLevel", "BestEffortPodLevel", "BestEffortContainerLevel",
			"BestEffort", "RestrictedPodLevel", "RestrictedContainerLevel", "Restricted", "None", "unknown")}
		if g.chance(0.2) {
			topology.TopologyPolicies = append(topology.TopologyPolicies, "SingleNUMANodePodLevel")
		}
	}
	attribute := func(name string, values ...string) {
		topology.Attributes = append(topology.Attributes, topologyv1alpha2.AttributeInfo{Name: name, Value: pick(g, values...)})
	}
	if g.chance(0.8) {
		attribute("topologyManagerPolicy", "single-numa-node", "single-numa-node", "single-numa-node", "none", "best-effort",
			"restricted", "Single")
	}
	if g.chance(0.7) {
		attribute("topologyManagerScope", "pod", "container", "container", "node")
	}
	if g.chance(0.3) {
		attribute("topologyManagerMaxNUMANodes", "2", "4", "8", "16", "1", "0", "-3", "2000", "many", "+6", "007")
	}
	if g.chance(0.2) {
		attribute("topologyManagerScope", "pod", "container")
	}
	topology.Zones = g.topologyZones(complete)
	return topology
}

// topologyZones creates zones. `complete`: their ids count from 0.
func (g generator) topologyZones(complete bool) topologyv1alpha2.ZoneList {
	zones := topologyv1alpha2.ZoneList{}
	ids := g.Perm(pick(g, 1, 2, 2, 2, 3, 4, 4, 8))
	if g.chance(0.8) {
		for i := range ids {
			ids[i] = i
		}
	}
	if !complete {
		for i := range ids {
			ids[i] = ids[i]*pick(g, 1, 2, 7) + g.IntN(2)*8 // at most 63
			for _, other := range ids[:i] {
				if other == ids[i] {
					ids[i] = 56 + i%8
				}
			}
		}
	}
	listed := []v1.ResourceName{}
	for _, resource := range []struct {
		name   v1.ResourceName
		chance float64
	}{{v1.ResourceCPU, 0.97}, {v1.ResourceMemory, 0.95}, {hugePages, 0.6}, {gpu, 0.6}, {nic, 0.6}, {prefixed, 0.6},
		{v1.ResourceEphemeralStorage, 0.1}} {
		if g.chance(resource.chance) {
			listed = append(listed, resource.name)
		}
	}
	for _, id := range ids {
		zone := topologyv1alpha2.Zone{
			Name: fmt.Sprintf("node-%d", id), Type: "Node", Resources: g.zoneResources(listed), Costs: g.zoneCosts(id, ids),
		}
		zones = append(zones, zone)
		if g.chance(0.1) {
			other := zone
			other.Type, other.Name = pick(g, "Socket", "node", ""), fmt.Sprintf("node-%d", 40+id%8)
			zones = append(zones, other)
		}
		if g.chance(0.05) {
			other := zone
			other.Name = pick(g, "node-", "node-x", "numa-0", "node-70", "node--1", "Node-1")
			zones = append(zones, other)
		}
	}
	return zones
}

// zoneResources lists most of the resources; some have the amount 0.
func (g generator) zoneResources(names []v1.ResourceName) topologyv1alpha2.ResourceInfoList {
	resources := topologyv1alpha2.ResourceInfoList{}
	for _, name := range names {
		if !g.chance(0.93) {
			continue
		}
		available := g.topologyAmount(name)
		if g.chance(0.06) {
			available = resource.MustParse("0")
		}
		resources = append(resources, topologyv1alpha2.ResourceInfo{
			Name: string(name), Capacity: available, Allocatable: available, Available: available,
		})
	}
	return resources
}

// zoneCosts are the distances of a zone to most zones; some zones have none.
func (g generator) zoneCosts(id int, ids []int) topologyv1alpha2.CostList {
	costs := topologyv1alpha2.CostList{}
	if g.chance(0.1) {
		return costs
	}
	for _, other := range ids {
		value := int64(10)
		if other != id {
			value = pick(g, int64(12), 20, 30, 300)
		}
		if g.chance(0.95) {
			costs = append(costs, topologyv1alpha2.CostInfo{Name: fmt.Sprintf("node-%d", other), Value: value})
		}
	}
	return costs
}

// topologySteps reserves some nodes; some reservations end.
func (g generator) topologySteps(nodes []*v1.Node) []topologyStep {
	steps := []topologyStep{}
	for i, node := range nodes {
		for j := range g.IntN(3) {
			pod := g.topologyPod(fmt.Sprintf("reserved-%d-%d", i, j))
			steps = append(steps, topologyStep{"reserve", node.Name, pod})
			if g.chance(0.6) {
				steps = append(steps, topologyStep{pick(g, "unreserve", "postBind"), node.Name, pod})
			}
		}
	}
	return steps
}

func (g generator) topologyPod(name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	class := pick(g, v1.PodQOSGuaranteed, v1.PodQOSGuaranteed, v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort)
	for i := range g.IntN(3) {
		container := g.topologyContainer(fmt.Sprintf("i%d", i), class)
		if g.chance(0.4) {
			always := v1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		if g.chance(0.6) {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		}
	}
	for i := range 1 + g.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.topologyContainer(fmt.Sprintf("c%d", i), class))
	}
	if g.chance(0.1) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("64Mi")}
	}
	return pod
}

func (g generator) topologyContainer(name string, class v1.PodQOSClass) v1.Container {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	add := func(name v1.ResourceName, amount string) {
		requests[name] = resource.MustParse(amount)
		limits[name] = resource.MustParse(amount)
	}
	switch class {
	case v1.PodQOSGuaranteed:
		add(v1.ResourceCPU, pick(g, "1", "1", "2", "500m", "3", "6"))
		add(v1.ResourceMemory, pick(g, "512Mi", "1Gi", "2Gi", "1500M", "6Gi"))
	case v1.PodQOSBurstable:
		if g.chance(0.8) {
			requests[v1.ResourceCPU] = resource.MustParse(pick(g, "1", "2", "20"))
		}
		if g.chance(0.7) {
			requests[v1.ResourceMemory] = resource.MustParse(pick(g, "1Gi", "2Gi"))
			limits[v1.ResourceMemory] = resource.MustParse("4Gi")
		}
	}
	if class != v1.PodQOSBestEffort && g.chance(0.2) {
		add(hugePages, pick(g, topologyAmounts[hugePages]...))
	}
	if g.chance(0.3) {
		add(gpu, pick(g, "1", "1", "2", "0"))
	}
	if g.chance(0.15) {
		add(nic, pick(g, "1", "2"))
	}
	if g.chance(0.1) {
		add(prefixed, pick(g, "1", "2"))
	}
	if g.chance(0.1) {
		requests[v1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
	return v1.Container{Name: name, Image: "i", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}
