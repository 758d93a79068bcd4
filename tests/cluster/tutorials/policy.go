package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"berth.test/cluster/controlplane"
)

// extenderPolicy: the file format before KubeSchedulerConfiguration, and an extender in Python.
func (s *stage) extenderPolicy(ctx context.Context) error {
	extender, err := s.children.Start("extender", []string{"python3", s.example("extender-policy/extender.py")})
	if err != nil {
		return err
	}
	defer func() { extender.Kill() }()
	s.converts(ctx, "extender-policy/policy.json")
	err = controlplane.Until(ctx, stepTimeout, "the extender to listen", func() (bool, error) {
		connection, err := net.Dial("tcp", "127.0.0.1:12345")
		if err == nil {
			connection.Close()
		}
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	if err := s.copyToHost("extender-policy/policy.json", "/etc/kubernetes/policy.json"); err != nil {
		return err
	}
	for _, manifest := range []string{"kube-scheduler.yaml", "kube-scheduler-configmap.yaml"} {
		if manifest == "kube-scheduler-configmap.yaml" {
			if _, err := s.kubectl(ctx, "apply", "-k", s.example("extender-policy")); err != nil {
				return err
			}
		}
		if err := s.copyToHost("extender-policy/"+manifest, "/etc/kubernetes/manifests/kube-scheduler.yaml"); err != nil {
			return err
		}
		if err := s.byRack(ctx); err != nil {
			return fmt.Errorf("%s: %w", manifest, err)
		}
		if manifest == "kube-scheduler.yaml" {
			s.clear(ctx)
		}
	}
	// A filter that is unavailable fails the pod; when it is available again, the pod is scheduled.
	extender.Kill()
	if err := s.makePod(ctx, "later", "default-scheduler"); err != nil {
		return err
	}
	note, err := s.event(ctx, "later", "FailedScheduling", "default-scheduler")
	if err != nil {
		return err
	}
	if !strings.Contains(note, "http://127.0.0.1:12345/api/scheduler/filter") {
		s.AddError("the event does not name the unavailable extender: %s", note)
	}
	if extender, err = s.children.Start("extender", []string{"python3", s.example("extender-policy/extender.py")}); err != nil {
		return err
	}
	_, err = s.nodeOf(ctx, "later")
	return err
}

func (s *stage) byRack(ctx context.Context) error {
	scheduler, err := s.staticPod(ctx)
	if err != nil {
		return err
	}
	if err := s.logs(ctx, scheduler, "All writes of the previous leader have been received"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "apply", "-f", s.example("extender-policy/test-pods.yaml")); err != nil {
		return err
	}
	node, err := s.nodeOf(ctx, "in-rack-b")
	if err != nil {
		return err
	}
	if racks[node] != "b" {
		s.AddError("in-rack-b is on %s, in rack %s", node, racks[node])
	}
	note, err := s.event(ctx, "in-rack-z", "FailedScheduling", "default-scheduler")
	if err != nil {
		return err
	}
	if want := "0/4 nodes are available: 4 node is in another rack."; !strings.HasPrefix(note, want) {
		s.AddError("the event's text is %q, not %q", note, want)
	}
	return nil
}
