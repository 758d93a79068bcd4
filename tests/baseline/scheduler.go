package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"berth.test/objects"
)

// loadConfig reads a configuration; without a path it is kube-scheduler's own.
func loadConfig(path string, allNodes bool) (*config.KubeSchedulerConfiguration, error) {
	parsed, err := latest.Default()
	if err == nil && path != "" {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			_, _, err = scheme.Codecs.UniversalDecoder().Decode(text, nil, parsed)
		}
	}
	if err != nil {
		return nil, err
	}
	if allNodes {
		all := int32(100)
		parsed.PercentageOfNodesToScore = &all
		for i := range parsed.Profiles {
			parsed.Profiles[i].PercentageOfNodesToScore = nil
		}
	}
	return parsed, nil
}

// numbered is the scheduling queue of the decisions: it only counts them. Batching needs the numbers.
type numbered struct {
	internalqueue.SchedulingQueue
	cycle int64
}

func (n *numbered) SchedulingCycle() int64 { return n.cycle }

// reference is kube-scheduler without its loops.
type reference struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	profile   framework.Framework
	snapshot  *internalcache.Snapshot
	factory   informers.SharedInformerFactory
	queue     *numbered
}

// newReference creates a scheduler. `watched` are the objects that plugins receive from informers; they cannot change
// later.
func newReference(ctx context.Context, cfg *config.KubeSchedulerConfiguration, watched []runtime.Object) (*reference, error) {
	p := &reference{ctx: klog.NewContext(ctx, logr.Discard()), snapshot: internalcache.NewEmptySnapshot()}
	client := fake.NewSimpleClientset(watched...)
	p.factory = scheduler.NewInformerFactory(client, 0, nil)
	var err error
	p.scheduler, err = scheduler.New(p.ctx, client, p.factory, nil,
		func(string) events.EventRecorderLogger { return objects.SilentRecorder{} },
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(cfg.Parallelism),
		scheduler.WithNodeInfoSnapshot(p.snapshot),
	)
	if err != nil {
		return nil, err
	}
	if len(watched) > 0 {
		p.factory.Start(p.ctx.Done())
		p.factory.WaitForCacheSync(p.ctx.Done())
		if err := p.scheduler.WaitForHandlersSync(p.ctx); err != nil {
			return nil, err
		}
	}
	p.queue = &numbered{SchedulingQueue: p.scheduler.SchedulingQueue}
	p.scheduler.SchedulingQueue = p.queue
	var ok bool
	if p.profile, ok = p.scheduler.Profiles[v1.DefaultSchedulerName]; !ok {
		return nil, fmt.Errorf("the configuration has no profile %s", v1.DefaultSchedulerName)
	}
	for _, plugin := range p.profile.PreEnqueuePlugins() {
		if preempting, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			// Victims are not deleted, as in Berth's benchmark.
			preempting.Executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) (bool, error) {
				return false, nil
			}
		}
	}
	return p, nil
}

// apply delivers a change to the scheduler, in place of the informers.
func (p *reference) apply(c change) error {
	gone := c.kind == "DELETED"
	logger := logr.Discard()
	switch object := c.object.(type) {
	case *v1.Node:
		if gone {
			return p.scheduler.Cache.RemoveNode(logger, object)
		}
		p.scheduler.Cache.AddNode(logger, object)
		return nil
	case *v1.Pod:
		store := p.factory.Core().V1().Pods().Informer().GetStore()
		if gone {
			if err := store.Delete(object); err != nil {
				return err
			}
			return p.scheduler.Cache.RemovePod(logger, object)
		}
		if err := store.Add(object); err != nil {
			return err
		}
		return p.scheduler.Cache.AddPod(logger, object)
	case *resourcev1.ResourceClaim, *resourcev1.ResourceSlice, *resourcev1.DeviceClass, *resourcev1.DeviceTaintRule:
		return fmt.Errorf("%T: cannot change between decisions", object)
	default:
		store := objects.StoreOf(p.factory, object)
		if store == nil {
			return fmt.Errorf("%T: no plugin uses this kind", object)
		}
		if gone {
			return store.Delete(object)
		}
		return store.Add(object)
	}
}

// decide runs one scheduling cycle, including the assumption of the pod. It returns the number of feasible nodes.
func (p *reference) decide(pod *v1.Pod) (feasible int, err error) {
	logger := logr.Discard()
	p.queue.cycle++
	if err := p.scheduler.Cache.UpdateSnapshot(logger, p.snapshot); err != nil {
		return 0, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return 0, err
	}
	queued := &framework.QueuedPodInfo{PodInfo: info, PodSignature: p.profile.SignPod(p.ctx, pod)}
	state := framework.NewCycleState()
	state.SetRecordPluginMetrics(rand.Intn(100) < 10) // the share of kube-scheduler
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	result, err := p.scheduler.SchedulePod(p.ctx, p.profile, state, queued)
	if unfit, ok := err.(*framework.FitError); ok {
		_, status := p.profile.RunPostFilterPlugins(p.ctx, state, pod, unfit.Diagnosis.NodeToStatus)
		unfit.Diagnosis.PostFilterMsg = status.Message()
		_ = unfit.Error() // kube-scheduler formats the text of the event
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	assumed := queued.DeepCopy()
	assumed.Pod.Spec.NodeName = result.SuggestedHost
	if err := p.scheduler.Cache.AssumePod(logger, assumed.Pod); err != nil {
		return 0, err
	}
	p.queue.DeleteNominatedPodIfExists(assumed.Pod)
	if len(pod.Spec.ResourceClaims) > 0 {
		// The pod's devices are no longer available to the next pods. The claims are never written.
		if status := p.profile.RunReservePluginsReserve(p.ctx, state, assumed.Pod, result.SuggestedHost); !status.IsSuccess() {
			return 0, status.AsError()
		}
	}
	return result.FeasibleNodes, nil
}
