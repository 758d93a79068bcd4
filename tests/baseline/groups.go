package main

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"

	"berth.test/handlers"
	"berth.test/objects"
)

// groupGates are the feature gates of a scheduler of pod groups. The default configuration depends on them.
const groupGates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"

// bindingDeadline limits the wait for the last bindings, after the last cycle.
const bindingDeadline = time.Minute

// scheduleGroups creates a complete scheduler with the cluster, and measures from the first cycle until all bindings are
// requested. Only the API server is missing; it accepts every request immediately.
func scheduleGroups(cfg *config.KubeSchedulerConfiguration, s *scenario) (*result, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	var bound atomic.Int64
	client := fake.NewSimpleClientset()
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch action.GetResource().Resource + "/" + action.GetSubresource() {
		case "pods/binding":
			bound.Add(1)
			return true, &v1.Binding{}, nil
		case "podgroups/status":
			return true, &schedulingv1beta1.PodGroup{}, nil
		default:
			return true, &v1.Pod{}, nil
		}
	})
	factory := scheduler.NewInformerFactory(client, 0, nil)
	made, err := scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return objects.SilentRecorder{} },
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(cfg.Parallelism),
	)
	if err != nil {
		return nil, err
	}
	defer made.SchedulingQueue.Close()
	for _, c := range s.before {
		if err := handlers.Deliver(made, factory, nil, c.object); err != nil {
			return nil, err
		}
	}
	for _, t := range s.turns {
		if len(t.changes) > 0 {
			return nil, errors.New("the cluster changes between two pods: not supported with --groups")
		}
		if err := handlers.Deliver(made, factory, nil, t.pod); err != nil {
			return nil, err
		}
	}
	goruntime.GC() // the cycles do not pay for earlier garbage

	pods := len(s.turns)
	waiting := made.SchedulingQueue.(*queue.PriorityQueue)
	r := &result{Pods: pods}
	cpu, start := cpuSeconds(), time.Now()
	for len(waiting.PodsInActiveQ()) > 0 {
		made.ScheduleOne(ctx)
	}
	rejected := len(waiting.PodsInBackoffQ()) + len(waiting.UnschedulablePods())
	for decided := time.Now(); int(bound.Load()) < pods-rejected; {
		if time.Since(decided) > bindingDeadline {
			return nil, fmt.Errorf("%d of %d pods are bound, %d wait in the queue", bound.Load(), pods, rejected)
		}
		time.Sleep(time.Millisecond)
	}
	r.WallSeconds, r.CPUSeconds = time.Since(start).Seconds(), cpuSeconds()-cpu
	r.Value, r.CPUMicros = float64(pods)/r.WallSeconds, r.CPUSeconds*1e6/float64(pods)
	r.Unplaced = pods - int(bound.Load())
	r.PeakMiB = peakMiB()
	return r, nil
}
