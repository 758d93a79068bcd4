package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unsafe" // for unexported fields

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	schedconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginconfig "sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
	nrtcache "sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/cache"
)

// topologyScenario is a cluster with NUMA zones, and the results of the real plugin NodeResourceTopologyMatch for pods.
type topologyScenario struct {
	Seed       uint64                                   `json:"seed"`
	Nodes      []*v1.Node                               `json:"nodes"`
	Topologies []*topologyv1alpha2.NodeResourceTopology `json:"topologies"`
	Weights    []schedconfig.ResourceSpec               `json:"weights"`
	// With discardReservedNodes: "reserve", "unreserve" or "postBind" of a pod, before the pods are evaluated.
	Discard bool           `json:"discard"`
	Steps   []topologyStep `json:"steps"`
	Pods    []*topologyPod `json:"pods"`

	scored bool // the real plugin accepts the ids of the zones
}

type topologyStep struct {
	Do   string  `json:"do"`
	Node string  `json:"node"`
	Pod  *v1.Pod `json:"pod"`
}

type topologyPod struct {
	Pod     *v1.Pod           `json:"pod"`
	Reasons map[string]string `json:"reasons"` // by node that is rejected
	// By strategy and node. Scores that depend on the order of a Go map are left out.
	Scores map[string]map[string]int64 `json:"scores"`
}

var topologyStrategies = []pluginconfig.ScoringStrategyType{
	pluginconfig.LeastAllocated, pluginconfig.MostAllocated, pluginconfig.BalancedAllocation, pluginconfig.LeastNUMANodes,
}

// Each score is computed this number of times.
const repeatedScores = 5

// recordTopologies writes one scenario per line until there are this number of pods.
func recordTopologies(file io.Writer, seed uint64, pods int) error {
	out := bufio.NewWriter(file)
	for written := 0; written < pods; seed++ {
		s := generateTopologies(seed)
		if err := s.evaluate(); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		written += len(s.Pods)
	}
	return out.Flush()
}

func (s *topologyScenario) evaluate() error {
	plugins := map[pluginconfig.ScoringStrategyType]*noderesourcetopology.TopologyMatch{}
	for _, strategy := range topologyStrategies {
		plugin, err := s.newPlugin(strategy)
		if err != nil {
			return err
		}
		plugins[strategy] = plugin
		for _, step := range s.Steps {
			step.run(plugin)
		}
	}
	for _, pod := range s.Pods {
		if err := s.evaluatePod(pod, plugins); err != nil {
			return err
		}
	}
	return nil
}

func (s *topologyScenario) evaluatePod(pod *topologyPod, plugins map[pluginconfig.ScoringStrategyType]*noderesourcetopology.TopologyMatch) error {
	ctx := context.Background()
	for _, node := range s.Nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		status := plugins[pluginconfig.LeastAllocated].Filter(ctx, nil, pod.Pod, info)
		if status.Code() == framework.Unschedulable {
			pod.Reasons[node.Name] = status.Message()
		} else if !status.IsSuccess() {
			return fmt.Errorf("pod %s, node %s: %s", pod.Pod.Name, node.Name, status.Message())
		}
		if !s.scored {
			continue
		}
		for _, strategy := range topologyStrategies {
			score, stable, err := repeatedScore(ctx, plugins[strategy], pod.Pod, info)
			if err != nil {
				return err
			}
			if !stable {
				continue
			}
			if pod.Scores[string(strategy)] == nil {
				pod.Scores[string(strategy)] = map[string]int64{}
			}
			pod.Scores[string(strategy)][node.Name] = score
		}
	}
	return nil
}

func repeatedScore(ctx context.Context, plugin *noderesourcetopology.TopologyMatch, pod *v1.Pod, node *framework.NodeInfo) (int64, bool, error) {
	first := int64(0)
	for i := range repeatedScores {
		score, status := plugin.Score(ctx, nil, pod, node)
		if !status.IsSuccess() {
			return 0, false, status.AsError()
		}
		if i > 0 && score != first {
			return 0, false, nil
		}
		first = score
	}
	return first, true, nil
}

func (step topologyStep) run(plugin *noderesourcetopology.TopologyMatch) {
	ctx := context.Background()
	switch step.Do {
	case "reserve":
		plugin.Reserve(ctx, nil, step.Pod, step.Node)
	case "unreserve":
		plugin.Unreserve(ctx, nil, step.Pod, step.Node)
	case "postBind":
		plugin.PostBind(ctx, nil, step.Pod, step.Node)
	}
}

// newPlugin builds the plugin with a cache that reads the scenario instead of an API server.
func (s *topologyScenario) newPlugin(strategy pluginconfig.ScoringStrategyType) (*noderesourcetopology.TopologyMatch, error) {
	args := &pluginconfig.NodeResourceTopologyMatchArgs{
		ScoringStrategy:      pluginconfig.ScoringStrategy{Type: strategy, Resources: s.Weights},
		DiscardReservedNodes: s.Discard,
	}
	silent := klog.Logger{} // the plugin logs each zone that it ignores
	created, err := noderesourcetopology.New(klog.NewContext(context.Background(), silent), args, unconnected{})
	if err != nil {
		return nil, err
	}
	plugin := created.(*noderesourcetopology.TopologyMatch)
	objects := topologyClient{objects: map[string]*topologyv1alpha2.NodeResourceTopology{}}
	for _, topology := range s.Topologies {
		objects.objects[topology.Name] = topology
	}
	cache := nrtcache.NewPassthrough(silent, objects)
	if s.Discard {
		cache = nrtcache.NewDiscardReserved(silent, objects)
	}
	field := reflect.ValueOf(plugin).Elem().FieldByName("nrtCache")
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(cache))
	return plugin, nil
}

// unconnected is the handle with which the plugin is built; nothing listens at the address.
type unconnected struct{ framework.Handle }

func (unconnected) KubeConfig() *rest.Config { return &rest.Config{Host: "http://127.0.0.1:1"} }

// topologyClient reads the objects of a scenario.
type topologyClient struct {
	client.Client
	objects map[string]*topologyv1alpha2.NodeResourceTopology
}

func (c topologyClient) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	object, found := c.objects[key.Name]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "noderesourcetopologies"}, key.Name)
	}
	object.DeepCopyInto(out.(*topologyv1alpha2.NodeResourceTopology))
	return nil
}
