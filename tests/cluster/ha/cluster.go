package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

var errWatchEnded = errors.New("a watch of the test itself has ended")

const (
	podsPerNode = 20 // of 100m: all CPU of a node
	perSecond   = 40 // created pods
)

// prepare creates the nodes, and with --long the existing pods.
func prepare(ctx context.Context, o *options, client kubernetes.Interface) error {
	err := controlplane.Each(ctx, o.nodes, func(i int) error {
		node := controlplane.ReadyNode(fmt.Sprintf("n-%d", i), controlplane.Resources("cpu", "2", "memory", "32Gi", "pods", "110"))
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := prepareDevices(ctx, client, o.nodes); err != nil {
		return err
	}
	if err := prepareNarrowNodes(ctx, client); err != nil {
		return err
	}
	return controlplane.Each(ctx, o.pods, func(i int) error {
		pod := newPod("default", fmt.Sprintf("there-%d", i), "other-scheduler")
		pod.Spec.NodeName = fmt.Sprintf("n-%d", i%o.nodes)
		_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func newPod(namespace, name, scheduler string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "ha"}},
		Spec: v1.PodSpec{SchedulerName: scheduler, Containers: []v1.Container{{
			Name: "c", Image: "example.org/app:v1",
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "100m", "memory", "64Mi")},
		}}},
	}
}

// creator creates pods at a steady rate until it is stopped; every other one has a claim for a device. Some are members of
// gangs; it stops when the last group has all its members.
type creator struct {
	cancel context.CancelFunc
	done   chan struct{}
	names  []string
	err    error
}

func startCreator(ctx context.Context, client kubernetes.Interface, namespace, scheduler string) *creator {
	ctx, cancel := context.WithCancel(ctx)
	c := &creator{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			member := i%groupPeriod < groupSize
			if ctx.Err() != nil && (!member || i%groupPeriod == 0) {
				return
			}
			<-tick.C
			name := fmt.Sprintf("p-%d", i)
			pod := newPod(namespace, name, scheduler)
			if member {
				group := fmt.Sprintf("g-%d", i/groupPeriod)
				controlplane.JoinGroup(pod, group)
				if i%groupPeriod == 0 {
					if c.err = controlplane.CreateGang(context.Background(), client, namespace, group, groupMinCount); c.err != nil {
						return
					}
				}
			}
			if i%2 == 0 {
				if err := addClaim(client, pod); err != nil {
					c.err = err
					return
				}
			}
			if _, err := client.CoreV1().Pods(namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
				c.err = err
				return
			}
			c.names = append(c.names, name)
		}
	}()
	return c
}

// stop stops it and returns the names of the created pods.
func (c *creator) stop() ([]string, error) {
	c.cancel()
	<-c.done
	return c.names, c.err
}
