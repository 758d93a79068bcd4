package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	patience = 60 * time.Second
	// quiet is how long pods must stay unbound; longer than the longest back-off and Permit timeout.
	quiet = 6 * time.Second
)

type scenario struct {
	name string
	play func(s *stage)
}

// stage is a cluster and the objects of the current scenario, in the namespace default.
type stage struct {
	*controlplane.ControlPlane
	ctx     context.Context
	options *options
}

func (s *stage) check(err error) { controlplane.Must(err) }

// try plays a scenario and removes its objects.
func (s *stage) try(one scenario) error {
	return errors.Join(controlplane.Played(func() { one.play(s) }), s.clean())
}

func (s *stage) clean() error {
	for _, kinds := range []string{"jobs", "podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh", "pods", "nodes"} {
		if _, err := s.Kubectl(s.ctx, nil, "delete", "--all", "--force", "--grace-period=0", kinds); err != nil {
			return err
		}
	}
	return nil
}

// install creates the definitions of both kinds of PodGroups and waits until they are served.
func (s *stage) install() error {
	if _, err := s.Kubectl(s.ctx, nil, "apply", "-f", s.options.crd); err != nil {
		return err
	}
	if err := s.apply(volcanoDefinition); err != nil {
		return err
	}
	if err := s.apply(priorities); err != nil {
		return err
	}
	if err := s.AwaitPriorityClass(s.ctx, "high"); err != nil {
		return err
	}
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := s.Client.CoreV1().ServiceAccounts("default").Create(s.ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.Kubectl(s.ctx, nil, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}

func (s *stage) apply(manifest string) error {
	_, err := s.Kubectl(s.ctx, strings.NewReader(manifest), "apply", "-f", "-")
	return err
}

func (s *stage) create(manifests ...string) { s.check(s.apply(strings.Join(manifests, "\n---\n"))) }

// guide applies a manifest of the guide.
func (s *stage) guide(file string) {
	text, err := os.ReadFile(filepath.Join(s.options.guide, file))
	s.check(err)
	_, err = s.Kubectl(s.ctx, bytes.NewReader(text), "apply", "-f", "-")
	s.check(err)
}

// nodes have room for one pod of this file each: two CPUs, and a pod requests more than one.
func (s *stage) nodes(names ...string) {
	for _, name := range names {
		node := controlplane.ReadyNode(name, controlplane.Resources("cpu", "2", "memory", "8Gi", "pods", "10"))
		created, err := s.Client.CoreV1().Nodes().Create(s.ctx, node, metav1.CreateOptions{})
		s.check(err)
		created.Status = node.Status
		_, err = s.Client.CoreV1().Nodes().UpdateStatus(s.ctx, created, metav1.UpdateOptions{})
		s.check(err)
	}
}

func (s *stage) delete(kind string, names ...string) {
	_, err := s.Kubectl(s.ctx, nil, append([]string{"delete", "--force", "--grace-period=0", kind}, names...)...)
	s.check(err)
}

// boundPods are the names of pods with a node, sorted.
func (s *stage) boundPods() ([]string, error) {
	pods, err := s.Client.CoreV1().Pods("default").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// bound waits until exactly these pods have a node, and that it stays so.
func (s *stage) bound(names ...string) {
	slices.Sort(names)
	s.settles(fmt.Sprintf("%q bound", names), func(now []string) bool { return slices.Equal(now, names) })
}

// boundCount is bound for any pods.
func (s *stage) boundCount(count int) {
	s.settles(fmt.Sprintf("%d pods bound", count), func(now []string) bool { return len(now) == count })
}

func (s *stage) settles(what string, holds func(bound []string) bool) {
	var last []string
	err := controlplane.Until(s.ctx, patience, what, func() (bool, error) {
		var err error
		last, err = s.boundPods()
		return err == nil && holds(last), err
	})
	if err != nil {
		s.check(fmt.Errorf("%w; bound are %q", err, last))
	}
	s.check(controlplane.Pause(s.ctx, quiet))
	last, err = s.boundPods()
	s.check(err)
	if !holds(last) {
		s.check(fmt.Errorf("%s did not last: bound are %q", what, last))
	}
}
