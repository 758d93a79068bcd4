package main

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.test/objects"
)

// Cluster is kube-scheduler, built by its own constructor and filled from a dump, without its loops.
type Cluster struct {
	ctx       context.Context
	cancel    context.CancelFunc
	scheduler *scheduler.Scheduler
	client    *fake.Clientset
	factory   informers.SharedInformerFactory
	view      *internalcache.Snapshot
	nodes     []fwk.NodeInfo
	// search limits a search to the nodes that kube-scheduler visits; nil: all nodes. visited are their names.
	search  func(targets []fwk.NodeInfo) []fwk.NodeInfo
	visited map[string]bool
	// state is the cycle state of the last evaluation.
	state   fwk.CycleState
	sampled bool
	now     metav1.Time
	writes  *deviceWrites
	// preemption by profile, if configured
	preemption map[string]*dryPreemption
	// extenders as configured, and their replies since the last attempt (extenders.go).
	extenders      []config.Extender
	reviewed       map[string]*extenderv1.Victims
	extenderErrors []ExtenderError
}

// newCluster builds the scheduler and adds the cluster.
//
// Only the kinds that DynamicResources watches go through informers. Informers deliver nodes and pods in an undefined
// order, while the record fixes that order, and no result depends on the delivery. All objects are in the stores of the
// informers, where the queue and the plugins look them up.
func newCluster(ctx context.Context, cfg *config.KubeSchedulerConfiguration, dump *Dump) (*Cluster, error) {
	return newSampledCluster(ctx, cfg, dump, false)
}

// newSampledCluster is newCluster with the percentageOfNodesToScore of the profiles in effect, if sampled is set.
func newSampledCluster(ctx context.Context, cfg *config.KubeSchedulerConfiguration, dump *Dump, sampled bool) (*Cluster, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &Cluster{ctx: ctx, cancel: cancel, extenders: cfg.Extenders, sampled: sampled, now: metav1.Now()}
	if err := c.build(cfg, dump); err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

// close ends the goroutines of the scheduler.
func (c *Cluster) close() {
	c.scheduler.SchedulingQueue.Close()
	c.cancel()
}

func (c *Cluster) build(cfg *config.KubeSchedulerConfiguration, dump *Dump) error {
	watched := slices.DeleteFunc(slices.Clone(dump.Others), func(o runtime.Object) bool { return !objects.Watched(o) })
	client := fake.NewSimpleClientset(watched...)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	c.client, c.factory = client, factory
	c.view = internalcache.NewEmptySnapshot()
	if err := c.newScheduler(cfg, client, factory); err != nil {
		return err
	}
	c.writes = keepClaims(client)
	c.preemption = make(map[string]*dryPreemption)
	for name, profile := range c.scheduler.Profiles {
		dry, err := tamePreemption(profile)
		if err != nil {
			return err
		}
		c.preemption[name] = dry
	}
	if len(watched) > 0 {
		factory.Start(c.ctx.Done())
		factory.WaitForCacheSync(c.ctx.Done())
		if err := c.scheduler.WaitForHandlersSync(c.ctx); err != nil {
			return err
		}
		if err := c.waitForDevices(factory); err != nil {
			return err
		}
	}
	if err := objects.Put(factory, dump.Others); err != nil {
		return err
	}
	if err := c.fill(factory, dump); err != nil {
		return err
	}
	return c.snapshot()
}

// snapshot updates what the plugins see. The snapshot is a new one: an existing one keeps, for nodes that have not
// changed, the number of nodes that had an image at the last change.
func (c *Cluster) snapshot() (err error) {
	updated := internalcache.NewEmptySnapshot()
	if err := c.scheduler.Cache.UpdateSnapshot(logr.Discard(), updated); err != nil {
		return err
	}
	*c.view = *updated
	c.nodes, err = c.view.NodeInfos().List()
	return err
}

func (c *Cluster) newScheduler(cfg *config.KubeSchedulerConfiguration, client kubernetes.Interface,
	factory informers.SharedInformerFactory) (err error) {
	all := int32(100)
	profiles := make([]config.KubeSchedulerProfile, len(cfg.Profiles))
	for i := range cfg.Profiles {
		profiles[i] = *cfg.Profiles[i].DeepCopy()
		if !c.sampled {
			profiles[i].PercentageOfNodesToScore = &all
		}
	}
	c.scheduler, err = scheduler.New(c.ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return objects.SilentRecorder{} },
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(profiles...),
		scheduler.WithPercentageOfNodesToScore(&all),
		// One worker visits the nodes in the order of the snapshot, so that of several errors the first counts.
		scheduler.WithParallelism(1),
		scheduler.WithNodeInfoSnapshot(c.view),
		scheduler.WithExtenders(cfg.Extenders...),
	)
	if err == nil {
		c.listen()
	}
	return err
}

func (c *Cluster) fill(factory informers.SharedInformerFactory, dump *Dump) error {
	logger := logr.Discard()
	nodeStore := factory.Core().V1().Nodes().Informer().GetStore()
	podStore := factory.Core().V1().Pods().Informer().GetStore()
	for _, node := range dump.sortedNodes() {
		if err := nodeStore.Add(node); err != nil {
			return err
		}
		c.scheduler.Cache.AddNode(logger, node)
	}
	var pending []*v1.Pod
	for _, pod := range dump.sortedPods() {
		// The scheduler does not watch finished pods.
		if finished(pod) {
			continue
		}
		pod = c.started(pod)
		if err := podStore.Add(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			pending = append(pending, pod)
		} else if err := c.scheduler.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	// A nominated pod counts on its node only while it is in the queue. Pods without a matching profile never are.
	for _, pod := range pending {
		if c.scheduler.Profiles.HandlesSchedulerName(pod.Spec.SchedulerName) {
			c.scheduler.SchedulingQueue.Add(c.ctx, pod)
		}
	}
	return nil
}

// started sets the start time of a pod on a node that has none. Preemption uses the present time for such pods; all of
// them get the same one.
func (c *Cluster) started(pod *v1.Pod) *v1.Pod {
	if pod.Spec.NodeName == "" || pod.Status.StartTime != nil {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Status.StartTime = &c.now
	return pod
}

// scheduleWhole lets the scheduler make the whole decision. Its result contains less than the record, and must agree
// with it.
func (c *Cluster) scheduleWhole(profile framework.Framework, pod *v1.Pod) (node string, err error) {
	// The queue accepts pods whose terms do not parse; the plugins report them.
	info, _ := framework.NewPodInfo(pod)
	result, err := c.scheduler.SchedulePod(c.ctx, profile, framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
	return result.SuggestedHost, err
}
