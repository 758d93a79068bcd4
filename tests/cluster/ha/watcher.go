package main

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
)

// podSeen, claimSeen and leaseSeen are watch events, with their time of arrival where it matters.
type podSeen struct {
	kind watch.EventType
	pod  *v1.Pod
	at   time.Time
}
type claimSeen struct {
	kind  watch.EventType
	claim *resourcev1.ResourceClaim
}
type leaseSeen struct {
	lease *coordinationv1.Lease
	at    time.Time
}

// watcher keeps the history of all pods, all claims, and of the Leases in kube-system.
type watcher struct {
	mutex  sync.Mutex
	pods   []podSeen
	claims []claimSeen
	leases []leaseSeen
	err    error
	cancel context.CancelFunc
}

func startWatcher(ctx context.Context, client kubernetes.Interface) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{cancel: cancel}
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return w, err
	}
	// The API server may end the watch of a slow client; the watch then resumes.
	pods, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, watching(client.CoreV1().Pods("").Watch))
	if err != nil {
		return w, err
	}
	leases, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, watching(client.CoordinationV1().Leases("kube-system").Watch))
	if err != nil {
		return w, err
	}
	claims, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, watching(client.ResourceV1().ResourceClaims("").Watch))
	if err != nil {
		return w, err
	}
	go w.follow(ctx, claims, func(event watch.Event) {
		if claim, ok := event.Object.(*resourcev1.ResourceClaim); ok {
			w.claims = append(w.claims, claimSeen{event.Type, claim})
		}
	})
	go w.follow(ctx, pods, func(event watch.Event) {
		if pod, ok := event.Object.(*v1.Pod); ok {
			w.pods = append(w.pods, podSeen{event.Type, pod, time.Now()})
		}
	})
	go w.follow(ctx, leases, func(event watch.Event) {
		if lease, ok := event.Object.(*coordinationv1.Lease); ok && event.Type != watch.Deleted {
			w.leases = append(w.leases, leaseSeen{lease, time.Now()})
		}
	})
	return w, nil
}

// watching opens a watch.
type watching func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (open watching) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return open(ctx, options)
}

func (w *watcher) stop() { w.cancel() }

func (w *watcher) follow(ctx context.Context, events watch.Interface, take func(watch.Event)) {
	for event := range events.ResultChan() {
		w.mutex.Lock()
		take(event)
		w.mutex.Unlock()
	}
	if ctx.Err() == nil {
		w.mutex.Lock()
		w.err = errWatchEnded
		w.mutex.Unlock()
	}
}

// claimsOf is the history of a namespace.
func (w *watcher) claimsOf(namespace string) []claimSeen {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var seen []claimSeen
	for _, s := range w.claims {
		if s.claim.Namespace == namespace {
			seen = append(seen, s)
		}
	}
	return seen
}

// podsOf is the history of a namespace.
func (w *watcher) podsOf(namespace string) []podSeen {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var seen []podSeen
	for _, s := range w.pods {
		if s.pod.Namespace == namespace {
			seen = append(seen, s)
		}
	}
	return seen
}

func (w *watcher) leasesOf(name string) []leaseSeen {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var seen []leaseSeen
	for _, s := range w.leases {
		if s.lease.Name == name {
			seen = append(seen, s)
		}
	}
	return seen
}
