package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	upgradeNodes = 20
	// Of each release's time with arriving pods.
	phase = 10 * time.Second
	// One pod per interval: also while no API server runs, then it is created late.
	arrivalInterval = 50 * time.Millisecond
)

// upgrade replaces the API server while berth runs and pods arrive: the older release by the newer one, and back. The same
// process of berth must bind every pod. etcd is that of the newer release.
func upgrade(ctx context.Context, o *options, directory string) error {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.StartWithEtcdOf(ctx, o.Real, o.upgradeFrom, directory, children)
	if err != nil {
		return err
	}
	for i := range upgradeNodes {
		node := controlplane.ReadyNode(fmt.Sprintf("n-%d", i), controlplane.Resources("cpu", "64", "memory", "64Gi", "pods", "110"))
		if _, err := control.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	berth, err := control.StartScheduler(children, "berth", []string{o.Berth, "scheduler"}, "default-scheduler", "token")
	if err != nil {
		return err
	}
	arrivals := startArrivals(ctx, control.Client)
	for i, program := range []string{o.upgradeFrom, o.Real, o.upgradeFrom} {
		outage := time.Duration(0)
		if i > 0 {
			stopped := time.Now()
			if err := control.ReplaceAPIServer(ctx, program); err != nil {
				return err
			}
			outage = time.Since(stopped)
		}
		if err := reportPhase(ctx, control, arrivals, outage); err != nil {
			return err
		}
	}
	created, err := arrivals.stop(ctx)
	if err != nil {
		return err
	}
	// More than were counted if the API server created the pod of the cancelled request later.
	err = control.UntilBound(ctx, time.Minute, fmt.Sprintf("all %d pods to be bound", created), func(bound []string) bool { return len(bound) >= created })
	if err != nil {
		return err
	}
	if !berth.Running() {
		return berth.Gone()
	}
	fmt.Printf("all %d pods are bound by one process of berth\n", created)
	return nil
}

// reportPhase waits until a pod that is created now is bound, lets pods arrive for the rest of the phase, and prints both.
func reportPhase(ctx context.Context, control *controlplane.ControlPlane, arrivals *arrivals, outage time.Duration) error {
	version, err := control.Client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	began := time.Now()
	before := arrivals.created.Load()
	err = controlplane.Until(ctx, time.Minute, "a pod of the new phase to be bound", func() (bool, error) {
		pod, err := control.Client.CoreV1().Pods("default").Get(ctx, podName(before), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && pod.Spec.NodeName != "", err
	})
	if err != nil {
		return err
	}
	first := time.Since(began)
	if err := controlplane.Pause(ctx, phase-first); err != nil {
		return err
	}
	fmt.Printf("%s: API server unavailable for %.1f s, first new pod bound after %.1f s, %d pods so far\n",
		version.GitVersion, outage.Seconds(), first.Seconds(), arrivals.created.Load())
	return nil
}

// arrivals creates pods p-0, p-1, ... until it is stopped.
type arrivals struct {
	client  kubernetes.Interface
	cancel  context.CancelFunc
	created atomic.Int64
	done    chan struct{}
}

func podName(i int64) string { return fmt.Sprintf("p-%d", i) }

func startArrivals(ctx context.Context, client kubernetes.Interface) *arrivals {
	creating, cancel := context.WithCancel(ctx)
	a := &arrivals{client: client, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.run(creating)
	}()
	return a
}

func (a *arrivals) run(ctx context.Context) {
	for ctx.Err() == nil {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(a.created.Load())}, Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: "none", Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "100m", "memory", "64Mi")}}}}}
		// Fails while no API server runs. A pod whose creation was not confirmed may exist.
		_, err := a.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			a.created.Add(1)
		}
		_ = controlplane.Pause(ctx, arrivalInterval)
	}
}

// stop ends the arrivals and returns the number of pods. They are counted on the API server, which may have created the pod of
// a cancelled request.
func (a *arrivals) stop(ctx context.Context) (int, error) {
	a.cancel()
	<-a.done
	pods, err := a.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	if lost := int(a.created.Load()) - len(pods.Items); lost > 0 {
		return 0, fmt.Errorf("%d created pods are missing", lost)
	}
	return len(pods.Items), nil
}
