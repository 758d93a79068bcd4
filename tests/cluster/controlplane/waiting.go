package controlplane

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pause waits, but not longer than the run's context.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Every calls do again and again, each time after a pause, until stop is called, which waits for the last call.
func Every(ctx context.Context, pause time.Duration, do func(ctx context.Context)) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for Pause(running, pause) == nil {
			do(running)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Until waits for a condition to become true.
func Until(ctx context.Context, timeout time.Duration, what string, happened func() (bool, error)) error {
	deadline := time.Now().Add(timeout)
	for {
		done, err := happened()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s", timeout, what)
		}
		if err := Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// AwaitPriorityClass waits until the API server admits pods of a class: the admission plugin reads classes
// from a cache, which may be behind the class's creation.
func (c *ControlPlane) AwaitPriorityClass(ctx context.Context, name string) error {
	zero := int64(0)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "class-"}, Spec: v1.PodSpec{PriorityClassName: name,
		TerminationGracePeriodSeconds: &zero, Containers: []v1.Container{{Name: "c", Image: "none"}}}}
	return Until(ctx, 20*time.Second, "admission of the priority class "+name, func() (bool, error) {
		_, err := c.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	})
}
