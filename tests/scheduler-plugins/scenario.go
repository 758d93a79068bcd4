package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/paypal/load-watcher/pkg/watcher"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scenario is one line of the recording.
type scenario struct {
	Seed   uint64         `json:"seed"`
	Plugin string         `json:"plugin"`
	Args   map[string]any `json:"args"`
	// The response of load-watcher.
	Watcher watcher.WatcherMetrics `json:"watcher"`
	// Unix seconds at which the pods of the nodes were placed.
	Placed int64       `json:"placed"`
	Nodes  []*nodeLoad `json:"nodes"`
	Pods   []*v1.Pod   `json:"pods"`
	// By pod and node.
	Scores [][]int64 `json:"scores"`
}

type nodeLoad struct {
	Node *v1.Node  `json:"node"`
	Pods []*v1.Pod `json:"pods"`
}

const (
	nodesOfScenario = 8
	podsOfScenario  = 4
)

type generator struct{ *rand.Rand }

func generate(seed uint64, plugin string) *scenario {
	g := generator{rand.New(rand.NewPCG(seed, 23))}
	s := &scenario{Seed: seed, Plugin: plugin, Args: g.args(plugin), Placed: time.Now().Unix()}
	// A pod counts until it was placed for 60 seconds; times close to that depend on the test's own speed.
	end := s.Placed + g.Int64N(1040) - 1000
	if g.chance(0.5) {
		end = s.Placed + 80 + g.Int64N(1000)
	}
	s.Watcher = watcher.WatcherMetrics{
		Timestamp: end,
		Window:    watcher.Window{Duration: watcher.FifteenMinutes, Start: end - 900, End: end},
		Source:    "test",
		Data:      watcher.Data{NodeMetricsMap: watcher.NodeMetricsMap{}},
	}
	for i := range nodesOfScenario {
		node := g.node(fmt.Sprintf("n%d", i))
		s.Nodes = append(s.Nodes, node)
		if !g.chance(0.05) {
			s.Watcher.Data.NodeMetricsMap[node.Node.Name] = g.metrics()
		}
	}
	for i := range podsOfScenario {
		s.Pods = append(s.Pods, g.pod(fmt.Sprintf("new-%d", i), ""))
	}
	return s
}

func (g generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

func (g generator) args(plugin string) map[string]any {
	args := map[string]any{}
	set := func(name string, value any) {
		if g.chance(0.7) {
			args[name] = value
		}
	}
	switch plugin {
	case "TargetLoadPacking":
		set("targetUtilization", pick(g, int64(0), -5, 1, 100, 1+g.Int64N(100), 1+g.Int64N(100), 1+g.Int64N(100)))
		set("defaultRequestsMultiplier", pick(g, "1", "1.5", "0.7", "2.25", "0"))
		set("defaultRequests", pick(g, map[string]any{"cpu": "250m"}, map[string]any{"cpu": "1.5", "memory": "1Gi"}, map[string]any{"memory": "1Gi"}))
	case "LoadVariationRiskBalancing":
		set("safeVarianceMargin", pick(g, 0, -1, 1, 3*g.Float64()))
		set("safeVarianceSensitivity", pick(g, 0, -1, 1, 2, 3*g.Float64()))
	case "LowRiskOverCommitment":
		set("smoothingWindowSize", pick(g, int64(0), -1, 1, 5, 1+g.Int64N(20)))
		set("riskLimitWeights", pick(g, map[string]any{}, map[string]any{"cpu": g.Float64()},
			map[string]any{"cpu": g.Float64(), "memory": g.Float64()}, map[string]any{"cpu": 1.5, "memory": -1}))
	}
	return args
}

func (g generator) node(name string) *nodeLoad {
	cores := 1 + g.Int64N(64)
	cpu := cores*1000 + pick(g, 0, g.Int64N(1000))
	memory := (cores*4<<30)/pick(g, int64(1), 2, 3) + pick(g, 0, g.Int64N(1<<30))
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Capacity = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu-g.Int64N(cpu), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory-pick(g, 0, g.Int64N(memory)), resource.BinarySI),
	}
	if g.chance(0.03) {
		delete(node.Status.Capacity, v1.ResourceCPU)
		delete(node.Status.Allocatable, v1.ResourceCPU)
	}
	load := &nodeLoad{Node: node, Pods: []*v1.Pod{}}
	for i := range g.IntN(9) {
		load.Pods = append(load.Pods, g.pod(fmt.Sprintf("%s-%d", name, i), name))
	}
	return load
}

func (g generator) metrics() watcher.NodeMetrics {
	node := watcher.NodeMetrics{Metrics: []watcher.Metric{}}
	if g.chance(0.03) {
		return node
	}
	for _, kind := range []string{watcher.CPU, watcher.Memory} {
		average := g.percent(100)
		for _, m := range []struct {
			operator string
			chance   float64
			value    float64
		}{
			{watcher.Average, 0.85, average},
			{watcher.Std, 0.8, g.percent(40)},
			{watcher.Latest, 0.15, g.percent(100)},
			{"", 0.05, g.percent(100)},
			{"MAX", 0.05, g.percent(100)},
		} {
			if g.chance(m.chance) {
				node.Metrics = append(node.Metrics, watcher.Metric{Name: "m", Type: kind, Operator: m.operator, Rollup: watcher.FifteenMinutes, Value: m.value})
			}
		}
	}
	if g.chance(0.2) {
		node.Metrics = append(node.Metrics, watcher.Metric{Name: "disk", Type: watcher.Storage, Operator: watcher.Average, Value: g.percent(100)})
	}
	g.Shuffle(len(node.Metrics), func(i, j int) {
		node.Metrics[i], node.Metrics[j] = node.Metrics[j], node.Metrics[i]
	})
	return node
}

func (g generator) percent(most float64) float64 {
	return pick(g, 0, most, 1.2*most, g.Float64(), most*g.Float64(), most*g.Float64(), most*g.Float64(), most*g.Float64(), float64(g.IntN(int(most))))
}

func (g generator) pod(name, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)}}
	pod.Spec.NodeName = node
	if g.chance(0.1) { // best effort
		pod.Spec.Containers = []v1.Container{{Name: "c"}}
		return pod
	}
	for i := range 1 + g.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	for i := range g.IntN(4) / 2 {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, g.container(fmt.Sprintf("i%d", i)))
	}
	if g.chance(0.2) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(g.Int64N(300), resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(g.Int64N(1<<28), resource.BinarySI)}
	}
	return pod
}

func (g generator) container(name string) v1.Container {
	container := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}
	cpu, memory := g.Int64N(4000), g.Int64N(8<<30)
	if g.chance(0.7) {
		container.Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(cpu, resource.DecimalSI)
	}
	if g.chance(0.7) {
		container.Resources.Requests[v1.ResourceMemory] = *resource.NewQuantity(memory, resource.BinarySI)
	}
	if g.chance(0.4) {
		container.Resources.Limits[v1.ResourceCPU] = *resource.NewMilliQuantity(cpu+g.Int64N(4000), resource.DecimalSI)
	}
	if g.chance(0.4) {
		container.Resources.Limits[v1.ResourceMemory] = *resource.NewQuantity(memory+g.Int64N(8<<30), resource.BinarySI)
	}
	return container
}
