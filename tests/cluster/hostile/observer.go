package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// errNotBound is the result of a scheduler that does not bind an ordinary pod in time.
var errNotBound = errors.New("an ordinary pod was not bound in time")

// observer measures the effect of an attack on others: it creates ordinary pods one after the other, each after the
// last one was bound, and requests /healthz on new connections. Delays are between two events of a watch: the pod,
// and the pod with its node.
type observer struct {
	client    kubernetes.Interface
	watch     watch.Interface
	scheduler *controlplane.Child // set when it has started
	port      int
	limit     time.Duration
	cancel    context.CancelFunc
	group     sync.WaitGroup

	mutex                        sync.Mutex
	begun, done                  int // pods
	longestDelay, longestHealthz time.Duration
	failed                       error
}

func newObserver(ctx context.Context, client kubernetes.Interface, port int, limit time.Duration) (*observer, error) {
	pods := client.CoreV1().Pods(ordinary)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	// Of a scheduler that was too slow.
	for _, pod := range list.Items {
		if err := pods.Delete(ctx, pod.Name, atOnce); err != nil {
			return nil, err
		}
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	return &observer{client: client, watch: w, port: port, limit: limit, cancel: func() {}}, nil
}

// observe starts the measurements.
func (o *observer) observe(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(ctx)
	o.group.Go(func() { o.keep(ctx, o.bindPods(ctx)) })
	o.group.Go(func() { o.keep(ctx, o.requestHealth(ctx)) })
}

func (o *observer) keep(ctx context.Context, err error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.failed == nil && ctx.Err() == nil {
		o.failed = err
	}
}

// stop ends the measurements and adds them to the result. Further calls have no effect.
func (o *observer) stop(found *result) error {
	o.cancel()
	o.group.Wait()
	o.watch.Stop()
	found.delay = max(found.delay, o.longestDelay)
	found.healthz = max(found.healthz, o.longestHealthz)
	return o.failed
}

// settled waits until a pod that is created after this call is bound.
func (o *observer) settled(ctx context.Context) error {
	begun := -1
	for {
		o.mutex.Lock()
		if begun < 0 {
			begun = o.begun
		}
		done, err := o.done > begun, o.failed
		o.mutex.Unlock()
		if err != nil || done {
			return err
		}
		if err := controlplane.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (o *observer) bindPods(ctx context.Context) error {
	for i := 1; ; i++ {
		o.mutex.Lock()
		o.begun = i
		o.mutex.Unlock()
		if err := o.create(ctx, i); err != nil {
			return err
		}
		delay, err := o.bound(ctx, i)
		if err != nil {
			return err
		}
		o.mutex.Lock()
		o.done, o.longestDelay = i, max(o.longestDelay, delay)
		o.mutex.Unlock()
		if err := controlplane.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func podName(i int) string { return fmt.Sprintf("pod-%d", i) }

func (o *observer) create(ctx context.Context, i int) error {
	_, err := o.client.CoreV1().Pods(ordinary).Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i)},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "registry.example/app:v1",
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "100m", "memory", "128Mi")}}}},
	}, metav1.CreateOptions{})
	return err
}

// bound waits until a pod is bound, and deletes it. It returns the time since the pod appeared in the watch.
func (o *observer) bound(ctx context.Context, i int) (time.Duration, error) {
	late := time.After(o.limit)
	alive := time.NewTicker(time.Second)
	defer alive.Stop()
	var appeared time.Time
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-late:
			return 0, errNotBound
		case <-alive.C:
			if !o.scheduler.Running() {
				return 0, o.scheduler.Gone()
			}
		case event, open := <-o.watch.ResultChan():
			if !open || event.Type == watch.Error {
				return 0, fmt.Errorf("the watch of the ordinary pods ended: %v", event.Object)
			}
			pod := event.Object.(*v1.Pod)
			if pod.Name != podName(i) || event.Type == watch.Deleted {
				continue
			}
			if appeared.IsZero() {
				appeared = time.Now()
			}
			if pod.Spec.NodeName != "" {
				return time.Since(appeared), o.client.CoreV1().Pods(ordinary).Delete(ctx, pod.Name, atOnce)
			}
		}
	}
}

func (o *observer) requestHealth(ctx context.Context) error {
	client := &http.Client{Timeout: o.limit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for {
		begun := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/healthz", o.port), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/healthz: %s", response.Status)
		}
		o.mutex.Lock()
		o.longestHealthz = max(o.longestHealthz, time.Since(begun))
		o.mutex.Unlock()
		if err := controlplane.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
