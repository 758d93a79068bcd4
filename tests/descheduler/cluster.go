package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsfake "k8s.io/metrics/pkg/client/clientset/versioned/fake"

	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

const namespace = "default"

// cluster is one simulated cluster with the descheduler's own plugins, evictor and metrics collector. The API server, its
// Metrics API and Prometheus are replaced by what the simulation has sent.
type cluster struct {
	context context.Context
	cancel  context.CancelFunc

	nodes     []*v1.Node
	nodeUsage map[string]usage
	podUsage  map[string]usage
	onNode    map[string][]*v1.Pod
	evicted   []string

	metrics *metricscollector.MetricsCollector
	plugin  frameworktypes.BalancePlugin
}

func newCluster(b beginning) (*cluster, error) {
	c := &cluster{nodeUsage: map[string]usage{}}
	c.context, c.cancel = context.WithCancel(context.Background())
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range b.Nodes {
		object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: v1.NodeStatus{
			Allocatable: amounts(n.usage, n.Pods), Capacity: amounts(n.usage, n.Pods),
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
		c.nodes = append(c.nodes, object)
		if err := nodes.Add(object); err != nil {
			return nil, err
		}
	}
	c.metrics = metricscollector.NewMetricsCollector(listers.NewNodeLister(nodes), c.metricsAPI(), labels.Everything())

	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		c.evicted = append(c.evicted, action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name)
		return true, nil, nil
	})
	evictor, err := evictions.NewPodEvictor(c.context, client, &events.FakeRecorder{}, nil, features.DefaultMutableFeatureGate, nil)
	if err != nil {
		return nil, err
	}
	handle := &frameworkfake.HandleImpl{ClientsetImpl: client, GetPodsAssignedToNodeFuncImpl: c.podsOn,
		SharedInformerFactoryImpl: informers.NewSharedInformerFactory(client, 0), PodEvictorImpl: evictor,
		MetricsCollectorImpl: c.metrics, PrometheusClientImpl: prometheus{c}}
	filter, err := defaultevictor.New(c.context, &defaultevictor.DefaultEvictorArgs{}, handle)
	if err != nil {
		return nil, err
	}
	handle.EvictorFilterImpl = filter.(frameworktypes.EvictorPlugin)
	args, err := arguments(b)
	if err != nil {
		return nil, err
	}
	plugin, err := nodeutilization.NewLowNodeUtilization(c.context, args, handle)
	if err != nil {
		return nil, err
	}
	c.plugin = plugin.(frameworktypes.BalancePlugin)
	return c, nil
}

// arguments are the plugin's, with thresholds for cpu.
func arguments(b beginning) (*nodeutilization.LowNodeUtilizationArgs, error) {
	args := &nodeutilization.LowNodeUtilizationArgs{}
	measured := v1.ResourceCPU
	switch source := api.MetricsSource(b.Source); source {
	case api.KubernetesMetrics:
		args.MetricsUtilization = &nodeutilization.MetricsUtilization{Source: source}
	case api.PrometheusMetrics:
		args.MetricsUtilization = &nodeutilization.MetricsUtilization{Source: source, Prometheus: &nodeutilization.Prometheus{Query: "cpu"}}
		measured = nodeutilization.MetricResource
	default:
		return nil, fmt.Errorf("source %q: expected %s or %s", b.Source, api.KubernetesMetrics, api.PrometheusMetrics)
	}
	args.Thresholds = api.ResourceThresholds{measured: api.Percentage(b.Thresholds)}
	args.TargetThresholds = api.ResourceThresholds{measured: api.Percentage(b.Target)}
	nodeutilization.SetDefaults_LowNodeUtilizationArgs(args)
	return args, nodeutilization.ValidateLowNodeUtilizationArgs(args)
}

func (c *cluster) close() {
	if c != nil {
		c.cancel()
	}
}

func amounts(u usage, pods int64) v1.ResourceList {
	list := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(u.MilliCPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(u.Memory, resource.BinarySI)}
	if pods > 0 {
		list[v1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	}
	return list
}

func (c *cluster) collect(u map[string]usage) error {
	c.nodeUsage = u
	return c.metrics.Collect(c.context)
}

// balance runs the plugin once and returns the names of the evicted pods.
func (c *cluster) balance(pods []pod) ([]string, error) {
	c.podUsage, c.onNode, c.evicted = map[string]usage{}, map[string][]*v1.Pod{}, []string{}
	controller := true
	for _, p := range pods {
		c.podUsage[p.Name] = p.usage
		c.onNode[p.Node] = append(c.onNode[p.Node], &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: namespace, UID: types.UID(p.Name), OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "Deployment", Name: p.Deployment, UID: types.UID(p.Deployment), Controller: &controller}}},
			Spec:   v1.PodSpec{NodeName: p.Node, Containers: []v1.Container{{Name: "c"}}},
			Status: v1.PodStatus{Phase: v1.PodRunning}})
	}
	if status := c.plugin.Balance(c.context, c.nodes); status != nil && status.Err != nil {
		return nil, status.Err
	}
	return c.evicted, nil
}

func (c *cluster) podsOn(node string, filter podutil.FilterFunc) (selected []*v1.Pod, err error) {
	for _, p := range c.onNode[node] {
		if filter == nil || filter(p) {
			selected = append(selected, p)
		}
	}
	return selected, nil
}

// metricsAPI is a client of the Metrics API (metrics-server).
func (c *cluster) metricsAPI() *metricsfake.Clientset {
	client := metricsfake.NewSimpleClientset()
	client.PrependReactor("get", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.GetAction).GetName()
		u, known := c.nodeUsage[name]
		if !known {
			return true, nil, fmt.Errorf("no usage of node %s", name)
		}
		return true, &metricsv1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Usage: amounts(u, 0)}, nil
	})
	client.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.GetAction).GetName()
		u, known := c.podUsage[name]
		if !known {
			return true, nil, fmt.Errorf("no usage of pod %s", name)
		}
		return true, &metricsv1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "c", Usage: amounts(u, 0)}}}, nil
	})
	return client
}

// prometheus answers each query with the busy share of all nodes.
type prometheus struct{ *cluster }

func (prometheus) URL(endpoint string, _ map[string]string) *url.URL { return &url.URL{Path: endpoint} }

func (p prometheus) Do(context.Context, *http.Request) (*http.Response, []byte, error) {
	type sample struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	samples := []sample{}
	for _, n := range p.nodes {
		if u, known := p.nodeUsage[n.Name]; known {
			share := min(1, float64(u.MilliCPU)/float64(n.Status.Allocatable.Cpu().MilliValue()))
			samples = append(samples, sample{map[string]string{"instance": n.Name}, [2]any{0, fmt.Sprint(share)}})
		}
	}
	body, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": samples}})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, body, err
}
