package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"berth.test/cluster/controlplane"
)

// change is one event of the watch on pods.
type change struct {
	kind watch.EventType
	pod  *v1.Pod
	seen time.Time
}

// reader watches the pods on its own connection and records every change in the order of the API server.
type reader struct {
	client  kubernetes.Interface
	watcher interface{ Stop() }

	mutex   sync.Mutex
	changes []change
	// node is where a pod was bound, latest its last version.
	node   map[string]string
	latest map[string]*v1.Pod
	// devices is the present state, broken its violations at any time so far. Claims are read by the reader of etcd only.
	devices *controlplane.DeviceState
	broken  []string
	// lease is the present state, holders its holders by pod when the pods were bound. Only the reader of etcd reads it.
	lease   controlplane.LeaseState
	holders map[string]string
	err     error
}

func startReader(ctx context.Context, client kubernetes.Interface) (*reader, error) {
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, options)
		},
	})
	if err != nil {
		return nil, err
	}
	r := &reader{client: client, watcher: watcher, node: make(map[string]string), latest: make(map[string]*v1.Pod), holders: make(map[string]string)}
	go r.read(watcher.ResultChan())
	return r, nil
}

func (r *reader) stop() { r.watcher.Stop() }

func (r *reader) read(events <-chan watch.Event) {
	for event := range events {
		r.mutex.Lock()
		if claim, ok := event.Object.(*resourcev1.ResourceClaim); ok {
			r.broken = append(r.broken, r.devices.Claim(event.Type, claim)...)
		} else if lease, ok := event.Object.(*coordinationv1.Lease); ok {
			r.broken = append(r.broken, r.lease.Lease(lease)...)
		} else if pod, ok := event.Object.(*v1.Pod); ok {
			if r.devices != nil {
				r.broken = append(r.broken, r.devices.Pod(event.Type, pod)...)
			}
			r.changes = append(r.changes, change{event.Type, pod, time.Now()})
			r.latest[pod.Name] = pod
			if pod.Spec.NodeName != "" {
				if r.node[pod.Name] == "" {
					r.holders[pod.Name] = r.lease.Holder()
				}
				r.node[pod.Name] = pod.Spec.NodeName
			}
		} else if event.Type == watch.Error {
			r.err = fmt.Errorf("the watch broke: %v", event.Object)
		}
		r.mutex.Unlock()
	}
}

func (r *reader) bound(pod *v1.Pod) bool { return r.boundName(pod.Name) }

func (r *reader) boundName(pod string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.node[pod] != ""
}

func (r *reader) countBound(pods []*v1.Pod) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	count := 0
	for _, pod := range pods {
		if r.node[pod.Name] != "" {
			count++
		}
	}
	return count
}

// condition is a pod's current PodScheduled condition, nil if there is none.
func (r *reader) condition(name string) *v1.PodCondition {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	pod := r.latest[name]
	if pod == nil {
		return nil
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

func (r *reader) failure() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}

// bindings are the times when the first and the last pod was observed bound.
type bindings struct{ first, last time.Time }

// waitUntilBound returns when all fitting pods are bound, or with an error that names the missing ones, or with that of
// alive, which is called again and again.
func waitUntilBound(ctx context.Context, r *reader, w *workload, alive func() error, timeout time.Duration) (*bindings, error) {
	deadline := time.Now().Add(timeout)
	for r.countBound(w.fitting) < len(w.fitting) {
		if err := r.failure(); err != nil {
			return nil, err
		}
		if err := alive(); err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d pods are bound after %s%s", r.countBound(w.fitting), len(w.fitting), timeout, r.describeUnbound(w.fitting))
		}
		if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := new(bindings)
	seen := make(map[string]bool)
	for _, change := range r.changes {
		if change.pod.Spec.NodeName != "" && !seen[change.pod.Name] {
			seen[change.pod.Name] = true
			if found.first.IsZero() {
				found.first = change.seen
			}
			found.last = change.seen
		}
	}
	return found, nil
}

func (r *reader) describeUnbound(pods []*v1.Pod) string {
	var text strings.Builder
	reported := 0
	for _, pod := range pods {
		if r.bound(pod) || reported == 5 {
			continue
		}
		reported++
		output := "nothing"
		if condition := r.condition(pod.Name); condition != nil {
			output = condition.Reason + ": " + condition.Message
		}
		fmt.Fprintf(&text, "\n  %s: %s", pod.Name, output)
	}
	return text.String()
}

// waitUntilRefused returns when the scheduler has reported all pods as unschedulable.
func waitUntilRefused(ctx context.Context, r *reader, pods []*v1.Pod, scheduler *controlplane.Child) error {
	deadline := time.Now().Add(time.Minute)
	for _, pod := range pods {
		for {
			condition := r.condition(pod.Name)
			if condition != nil && condition.Status == v1.ConditionFalse && condition.Message != "" {
				break
			}
			if !scheduler.Running() {
				return scheduler.Gone()
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s reported nothing about pod %s within a minute", scheduler.Name, pod.Name)
			}
			if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}
