package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	if err := s.Apply(s.ctx, volcanoDefinition, priorities); err != nil {
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

func (s *stage) create(manifests ...string) { s.check(s.Apply(s.ctx, manifests...)) }

// guide applies a manifest of the guide.
func (s *stage) guide(file string) {
	text, err := os.ReadFile(filepath.Join(s.options.guide, file))
	s.check(err)
	s.check(s.Apply(s.ctx, string(text)))
}

// nodes have room for one pod of this file each: two CPUs, and a pod requests more than one.
func (s *stage) nodes(names ...string) {
	for _, name := range names {
		s.check(s.CreateNode(s.ctx, controlplane.ReadyNode(name, controlplane.Resources("cpu", "2", "memory", "8Gi", "pods", "10"))))
	}
}

func (s *stage) delete(kind string, names ...string) {
	_, err := s.Kubectl(s.ctx, nil, append([]string{"delete", "--force", "--grace-period=0", kind}, names...)...)
	s.check(err)
}

// bound waits until exactly these pods have a node, and that it stays so.
func (s *stage) bound(names ...string) {
	wanted := []string{}
	for _, name := range names {
		wanted = append(wanted, "default/"+name)
	}
	slices.Sort(wanted)
	s.settles(fmt.Sprintf("%q bound", wanted), func(now []string) bool { return slices.Equal(now, wanted) })
}

// boundCount is bound for any pods.
func (s *stage) boundCount(count int) {
	s.settles(fmt.Sprintf("%d pods bound", count), func(now []string) bool { return len(now) == count })
}

func (s *stage) settles(what string, holds func(bound []string) bool) {
	s.check(s.UntilBoundFor(s.ctx, quiet, patience, what, holds))
}
