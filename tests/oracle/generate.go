package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// Scenario is a cluster and a configuration, both as text.
type Scenario struct {
	Seed    uint64
	Focus   string
	Cluster []byte
	Config  []byte
}

// generator draws one scenario. The fields after rng are the properties of the cluster: some clusters are tight, some
// have many taints, some are plain, so that every rule occurs both alone and with others.
type generator struct {
	rng
	nodeNames  []string
	schedulers []string
	// plugins are those that configurations may contain.
	plugins []pluginWeight
	focus   string
	// unusual is the probability of an unusual spelling or an unusual value.
	unusual float64
	// wild clusters contain values that no API server would accept.
	wild bool
	// The probabilities of the features, and the approximate requests of a pod.
	taints, labels, images, scalars float64
	podCPU, podMemory               int
	// tight clusters have few small nodes and many pods on them.
	tight bool
	// uniform clusters are tight, and their pods are similar, so that several nodes are equally good for preemption.
	uniform bool
	// ending are nodes with a pod that is terminating because of a preemption.
	ending []string
	// startedOn counts the started pods of each node.
	startedOn map[any]int
	// withoutNamespaceSelectors: terms of affinity select namespaces by name only.
	withoutNamespaceSelectors bool
	// equalAges is the probability that a pod has started at the same time as another one on its node.
	equalAges float64
	// cores is the maximum number of CPUs of a node.
	cores int
	// common are the scalar resources of most nodes.
	common []string
	// together is the probability that a pod is in the namespace home.
	together float64
	home     string
	// The probabilities that a pod has what these plugins evaluate; 0: no object in the cluster does.
	topology, affinities, volumes, preemption, features float64
	storage                                             storage
	// devices is the probability that a pod has resource claims.
	devices float64
	stock   deviceStock
}

// scale bounds the size of a scenario.
type scale struct {
	maxNodes, maxBound, maxPending int
	// nodes is the number of nodes; 0: random.
	nodes int
}

var fullScale = scale{maxNodes: 200, maxBound: 150, maxPending: 40}

// generate returns the scenario of a seed and a focus, which is always the same.
func generate(seed uint64, size scale, focus string) (*Scenario, error) {
	allowed, err := focusPlugins(focus)
	if err != nil {
		return nil, err
	}
	g := &generator{rng: newRNG(seed), plugins: allowed, focus: focus}
	g.character()

	config := g.config()
	if !utilfeature.DefaultFeatureGate.Enabled(features.StorageCapacityScoring) {
		withoutShapes(config)
	}
	if focus == extended {
		config["extenders"] = g.extenders(seed, config["profiles"].(array))
	}
	items := g.cluster(size)
	if g.chance(0.5) {
		g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	cluster, err := toJSON(object{"apiVersion": "v1", "kind": "List", "metadata": object{"resourceVersion": ""}, "items": items})
	if err != nil {
		return nil, err
	}
	text, err := toYAML(config)
	if err != nil {
		return nil, err
	}
	return &Scenario{Seed: seed, Focus: focus, Cluster: cluster, Config: text}, nil
}

// cluster draws the objects: nodes, assigned pods, pending pods.
func (g *generator) cluster(size scale) array {
	count := 0
	switch roll := g.Float64(); {
	case size.nodes > 0:
		count = size.nodes
	case g.focus == chance:
		count = g.between(1, 3)
	case roll < 0.01:
	case roll < 0.05:
		count = 1
	case g.tight:
		count = g.between(2, 6)
	case roll < 0.93:
		count = g.between(2, min(30, size.maxNodes))
	case roll < 0.98:
		count = g.between(2, min(60, size.maxNodes))
	default:
		count = g.between(2, size.maxNodes)
	}
	var items array
	for i := range count {
		node := g.node(g.nodeName(i, count))
		if g.devices > 0 {
			g.offerDevices(node)
		}
		items = append(items, node)
	}
	least, most := 0, min(size.maxBound, 1+count*pick(g.rng, 1, 3, 8))
	if g.tight {
		most = count * pick(g.rng, 4, 6, 8)
		least = most * 2 / 3
	}
	for i := range g.between(least, most) {
		items = append(items, g.boundPod(i))
	}
	if g.devices > 0 {
		g.deviceObjects()
	}
	for i := range g.between(min(10, size.maxPending), size.maxPending) {
		items = append(items, g.pendingPod(i))
	}
	if g.related() {
		items = append(items, g.namespaces()...)
		items = append(items, g.workloads()...)
	}
	if g.preemption > 0 {
		items = append(items, g.budgets()...)
	}
	if g.volumes > 0 {
		items = append(items, g.storageObjects()...)
	}
	items = append(items, g.stock.objects...)
	return items
}

// nodeName numbers the nodes without leading zeros, so that the order by name differs from the order of creation.
func (g *generator) nodeName(i, count int) string {
	name := fmt.Sprintf("node-%d", i)
	if g.chance(0.1) {
		name = fmt.Sprintf("worker-%d.example.org", count-i)
	}
	g.nodeNames = append(g.nodeNames, name)
	return name
}

func toJSON(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buffer.Bytes()), nil
}

func runGenerate(args []string, out, errOut io.Writer) error {
	flags := newFlags("generate", "--seed N [--focus NAME] [--out FILE] [--config-out FILE]",
		"Makes a random cluster, as `kubectl get -o json` would print it, and a configuration for it.\n"+
			"The same seed always makes the same pair.", errOut)
	seed := flags.Uint64("seed", 1, "which scenario")
	path := flags.String("out", "", "file for the cluster; standard output if missing")
	focus := flags.String("focus", mixed, "what the scenario is about: "+focusNames())
	configPath := flags.String("config-out", "", "file for the configuration; not written if missing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scenario, err := generate(*seed, fullScale, *focus)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, scenario.Cluster, "", "    "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	if *configPath != "" {
		if err := os.WriteFile(*configPath, scenario.Config, 0o644); err != nil {
			return err
		}
	}
	if *path == "" {
		_, err = out.Write(pretty.Bytes())
		return err
	}
	return os.WriteFile(*path, pretty.Bytes(), 0o644)
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
