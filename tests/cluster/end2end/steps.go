package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// chaos contains what the steps of a run use. A step creates its part of the pods, which do not exist before, and returns a
// description of what it did meanwhile.
type chaos struct {
	*options
	control     *controlplane.ControlPlane
	controllers *controlplane.Child
	etcd        *clientv3.Client
	reader      *reader
	schedulers  *replicas
	random      *rand.Rand
	// create begins to create pods.
	create func(part []*v1.Pod) error
}

// killInGang kills the leader when a part of a gang is bound.
func (c *chaos) killInGang(ctx context.Context, part []*v1.Pod) (string, error) {
	return c.killLeader(ctx, part, newPartOfGang(part, c.random))
}

// killWithClaim kills the leader when a claim is allocated and its pod is not bound.
func (c *chaos) killWithClaim(ctx context.Context, part []*v1.Pod) (string, error) {
	return c.killLeader(ctx, part, newAllocatedClaim(part, c.random))
}

func (c *chaos) killLeader(ctx context.Context, part []*v1.Pod, m moment) (string, error) {
	c.schedulers.writes.await(m)
	if err := c.create(part); err != nil {
		return "", err
	}
	return c.schedulers.killLeader(ctx, c.reader)
}

// restart kills the API server when some of the pods are bound, and restarts it.
func (c *chaos) restart(ctx context.Context, part []*v1.Pod) (string, error) {
	if err := c.createShare(ctx, part); err != nil {
		return "", err
	}
	return c.crash(ctx, false)
}

// restartCompacted is restart, and the history of etcd is compacted meanwhile.
func (c *chaos) restartCompacted(ctx context.Context, part []*v1.Pod) (string, error) {
	if err := c.createShare(ctx, part); err != nil {
		return "", err
	}
	what, err := c.crash(ctx, true)
	if err != nil {
		return "", err
	}
	// After two crashes its watches would wait for up to a minute. It is not under test.
	c.controllers.Kill()
	c.controllers, err = c.control.StartControllers(claimController)
	return what, err
}

// createShare creates pods, and waits until a part of them is bound.
func (c *chaos) createShare(ctx context.Context, part []*v1.Pod) error {
	if err := c.create(part); err != nil {
		return err
	}
	alive := func() error { return c.schedulers.replaceLost(ctx) }
	return waitForShare(ctx, c.reader, part, alive, 0.1+0.5*c.random.Float64(), c.timeout)
}

// crash kills the API server and restarts it. With a compaction the schedulers are disconnected meanwhile and
// objects are changed, so that their last version is gone when they reconnect. Without it waits for a moment in which a
// claim is allocated and its pod not bound. Returns a description with the number of these claims.
func (c *chaos) crash(ctx context.Context, compact bool) (string, error) {
	for deadline := time.Now().Add(2 * time.Second); !compact && c.reader.inFlight() == 0 && time.Now().Before(deadline); {
		if err := controlplane.Pause(ctx, time.Millisecond); err != nil {
			return "", err
		}
	}
	if compact {
		c.schedulers.block(true)
		for i := range 50 {
			node := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("compacted-", i), Namespace: "default"}, Spec: v1.PodSpec{
				SchedulerName: "none", Containers: []v1.Container{{Name: "c", Image: "c"}}}}
			if _, err := c.control.Client.CoreV1().Pods("default").Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return "", err
			}
		}
	}
	claims := c.reader.inFlight()
	c.control.APIServer.Kill()
	if compact {
		now, err := c.etcd.Get(ctx, "revision")
		if err != nil {
			return "", err
		}
		if _, err := c.etcd.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
			return "", err
		}
	}
	if err := controlplane.Pause(ctx, time.Duration(c.random.IntN(2000))*time.Millisecond); err != nil {
		return "", err
	}
	if err := c.control.StartAPIServer(); err != nil {
		return "", err
	}
	if err := c.control.WaitUntilReady(ctx, c.control.APIServer); err != nil {
		return "", err
	}
	c.schedulers.block(false)
	return fmt.Sprintf("API server killed with %d claims in flight", claims), nil
}

func waitForShare(ctx context.Context, r *reader, pods []*v1.Pod, alive func() error, share float64, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for float64(r.countBound(pods)) < share*float64(len(pods)) {
		if err := alive(); err != nil {
			return err
		}
		if err := r.failure(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d pods are bound after %s", r.countBound(pods), len(pods), timeout)
		}
		if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
