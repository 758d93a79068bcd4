package main

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"sync"
	"unsafe" // also for linkname

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	tf "k8s.io/kubernetes/pkg/scheduler/testing/framework"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"
	"sigs.k8s.io/scheduler-plugins/pkg/preemptiontoleration"
)

// preemptionScenario is one attempt to schedule a pod, with the result of the real plugins NodeResourcesFit and
// CapacityScheduling, or PreemptionToleration if it has priority classes.
type preemptionScenario struct {
	Seed    uint64                          `json:"seed"`
	Quotas  []*v1alpha1.ElasticQuota        `json:"quotas"`
	Classes []*schedulingv1.PriorityClass   `json:"classes,omitempty"`
	Nodes   []*v1.Node                      `json:"nodes"`
	Placed  []*v1.Pod                       `json:"placed"`
	Budget  []*policyv1.PodDisruptionBudget `json:"budgets"`
	// Pods without a node, with status.nominatedNodeName.
	Nominated []*v1.Pod `json:"nominated"`
	Pod       *v1.Pod   `json:"pod"`

	Rejection string   `json:"rejection"` // by PreFilter
	Feasible  []string `json:"feasible"`
	Message   string   `json:"message"` // of a pod that fits on no node
	Node      string   `json:"node"`    // nominated
	Victims   []string `json:"victims"`
}

//go:linkname addElasticQuota sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling.(*CapacityScheduling).addElasticQuota
func addElasticQuota(c *capacityscheduling.CapacityScheduling, obj any)

//go:linkname addAssignedPod sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling.(*CapacityScheduling).addPod
func addAssignedPod(c *capacityscheduling.CapacityScheduling, obj any)

var registerMetrics = sync.OnceFunc(metrics.Register)

// evaluate decides about the pod like kube-scheduler's scheduling cycle.
func (s *preemptionScenario) evaluate() error {
	registerMetrics()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	objects := []runtime.Object{s.Pod}
	for _, pod := range append(append([]*v1.Pod{}, s.Placed...), s.Nominated...) {
		objects = append(objects, pod)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, object := range objects {
		if err := factory.Core().V1().Pods().Informer().GetIndexer().Add(object); err != nil {
			return err
		}
	}
	for _, budget := range s.Budget {
		if err := factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(budget); err != nil {
			return err
		}
	}
	// Nominated pods are looked up in the queue.
	queue := internalqueue.NewSchedulingQueue(func(_, _ *framework.QueuedPodInfo) bool { return false }, factory)
	for _, pod := range s.Nominated {
		queue.Add(klog.Background(), pod)
	}
	for _, class := range s.Classes {
		if err := factory.Scheduling().V1().PriorityClasses().Informer().GetIndexer().Add(class); err != nil {
			return err
		}
	}
	profile, err := tf.NewFramework(ctx, append([]tf.RegisterPluginFunc{
		tf.RegisterQueueSortPlugin(queuesort.Name, queuesort.New),
		tf.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
		tf.RegisterPluginAsExtensions(noderesources.Name, newFit, "PreFilter", "Filter"),
	}, s.preemption()...), "default-scheduler",
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithPodNominator(queue),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithSnapshotSharedLister(internalcache.NewSnapshot(s.Placed, s.Nodes)))
	if err != nil {
		return err
	}
	return s.schedule(ctx, profile, client)
}

// preemption registers the plugin that evicts pods.
func (s *preemptionScenario) preemption() []tf.RegisterPluginFunc {
	name := capacityscheduling.Name
	register := tf.RegisterPluginAsExtensions(name, s.newPlugin, "PreFilter")
	if len(s.Classes) > 0 {
		name = preemptiontoleration.Name
		register = func(registry *frameworkruntime.Registry, _ *config.KubeSchedulerProfile) {
			if err := registry.Register(name, newToleration); err != nil {
				panic(err)
			}
		}
	}
	return []tf.RegisterPluginFunc{register, func(_ *frameworkruntime.Registry, profile *config.KubeSchedulerProfile) {
		profile.Plugins.PostFilter.Enabled = []config.Plugin{{Name: name}}
	}}
}

func newFit(ctx context.Context, _ runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	args := &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type:      config.LeastAllocated,
		Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
	}}
	return noderesources.NewFit(ctx, args, handle, feature.Features{EnableSidecarContainers: true})
}

// newPlugin builds the plugin without its informers, whose handlers it calls: first all quotas, then all pods.
func (s *preemptionScenario) newPlugin(_ context.Context, _ runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	plugin := &capacityscheduling.CapacityScheduling{}
	setField(plugin, "fh", handle)
	setField(plugin, "logger", klog.Background())
	setField(plugin, "elasticQuotaInfos", capacityscheduling.NewElasticQuotaInfos())
	for _, quota := range s.Quotas {
		addElasticQuota(plugin, quota)
	}
	quotas := map[string]bool{}
	for _, quota := range s.Quotas {
		quotas[quota.Namespace] = true
	}
	for _, pod := range s.Placed {
		if quotas[pod.Namespace] { // otherwise it looks for a quota at the API server
			addAssignedPod(plugin, pod)
		}
	}
	return plugin, nil
}

// setField sets an unexported field.
func setField(plugin *capacityscheduling.CapacityScheduling, name string, value any) {
	field := reflect.ValueOf(plugin).Elem().FieldByName(name)
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

func (s *preemptionScenario) schedule(ctx context.Context, profile framework.Framework, client *fake.Clientset) error {
	state := framework.NewCycleState()
	verdicts := framework.NewDefaultNodeToStatus()
	diagnosis := framework.Diagnosis{NodeToStatus: verdicts}
	s.Feasible, s.Victims = []string{}, []string{}
	_, status, _ := profile.RunPreFilterPlugins(ctx, state, s.Pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return status.AsError()
		}
		s.Rejection = status.Message()
		diagnosis.PreFilterMsg = status.Message()
		verdicts.SetAbsentNodesStatus(status)
	} else {
		nodes, err := profile.SnapshotSharedLister().NodeInfos().List()
		if err != nil {
			return err
		}
		for _, node := range nodes {
			status := profile.RunFilterPluginsWithNominatedPods(ctx, state, s.Pod, node)
			if status.IsSuccess() {
				s.Feasible = append(s.Feasible, node.Node().Name)
			} else {
				verdicts.Set(node.Node().Name, status)
			}
		}
		sort.Strings(s.Feasible)
		if len(s.Feasible) > 0 {
			return nil
		}
	}
	result, status := profile.RunPostFilterPlugins(ctx, state, s.Pod, verdicts)
	diagnosis.PostFilterMsg = status.Message()
	s.Message = (&framework.FitError{Pod: s.Pod, NumAllNodes: len(s.Nodes), Diagnosis: diagnosis}).Error()
	if status.IsSuccess() {
		s.Node = result.NominatedNodeName
	}
	for _, action := range client.Actions() {
		if deleted, is := action.(kubetesting.DeleteAction); is && action.Matches("delete", "pods") {
			s.Victims = append(s.Victims, fmt.Sprintf("%s/%s", deleted.GetNamespace(), deleted.GetName()))
		}
	}
	sort.Strings(s.Victims)
	return nil
}
