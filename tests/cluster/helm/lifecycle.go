package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// lifecycle installs a release, changes it, fails to change it, rolls it back and removes it.
func (s *stage) lifecycle(ctx context.Context) error {
	first, err := s.kubeScheduler("kube-scheduler-"+filepath.Base(s.helm), false)
	if err != nil {
		return err
	}
	defer first.Stop()
	// Pods of the two lifecycles have different names.
	prefix := strings.ReplaceAll(filepath.Base(s.helm), ".", "-")
	if err := s.commands(); err != nil {
		return err
	}
	return s.withPods(ctx,
		func(ctx context.Context) error { return s.installed(ctx, prefix) },
		func(ctx context.Context) error { return s.upgraded(ctx, prefix) },
		// Before the replicas that are meant to fail.
		s.checked,
		func(ctx context.Context) error { return s.failed(ctx, prefix) },
		func(ctx context.Context) error { return s.rolledBack(ctx, prefix) },
		func(ctx context.Context) error { return s.uninstall(ctx, "berth") },
	)
}

// commands makes the programs of the notes available under their names.
func (s *stage) commands() error {
	folder := filepath.Join(s.directory, "bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, program := range map[string]string{"kubectl": s.Real, "helm": s.helm} {
		os.Remove(filepath.Join(folder, name))
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// installed checks that three replicas are ready, one leads, pods are bound, and the commands of the notes work, among
// them helm test.
func (s *stage) installed(ctx context.Context, prefix string) error {
	notes, err := s.install(ctx, "berth", "{}")
	if err != nil {
		return err
	}
	if count := len(s.pods.Replicas()); count != 3 {
		s.AddError("%d replicas run, not 3", count)
	}
	if _, err := s.holder(ctx, "berth"); err != nil {
		return err
	}
	if err := s.selected(ctx); err != nil {
		return err
	}
	if err := s.placed(ctx, prefix+"-installed", "berth", "berth"); err != nil {
		return err
	}
	if err := s.placed(ctx, prefix+"-other", "default-scheduler", "default-scheduler"); err != nil {
		return err
	}
	commands := 0
	for line := range strings.Lines(notes) {
		if command := strings.TrimSpace(line); strings.HasPrefix(line, "     ") && (strings.HasPrefix(command, "kubectl ") || strings.HasPrefix(command, "helm ")) {
			commands++
			if _, err := s.run(ctx, "sh", "-c", command); err != nil {
				s.AddError("a command of the notes: %v", err)
			}
		}
	}
	if commands != 3 {
		s.AddError("the notes have %d commands, not 3: %s", commands, notes)
	}
	return nil
}

// selected checks that the disruption budget and the Service select the replicas.
func (s *stage) selected(ctx context.Context) error {
	err := controlplane.Until(ctx, stepTimeout, "the disruption budget to count three replicas", func() (bool, error) {
		budget, err := s.control.Client.PolicyV1().PodDisruptionBudgets(system).Get(ctx, "berth", metav1.GetOptions{})
		return err == nil && budget.Status.CurrentHealthy == 3 && budget.Status.DisruptionsAllowed == 1, err
	})
	if err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the Service to select three replicas", func() (bool, error) {
		options := metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=berth"}
		slices, err := s.control.Client.DiscoveryV1().EndpointSlices(system).List(ctx, options)
		if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Ports) != 1 {
			return false, err
		}
		return len(slices.Items[0].Endpoints) == 3 && *slices.Items[0].Ports[0].Port == 10259, nil
	})
}

// upgraded changes the configuration: every replica is replaced and has the new profile.
func (s *stage) upgraded(ctx context.Context, prefix string) error {
	before := s.pods.Replicas()
	if _, err := s.install(ctx, "berth", "configuration: {profiles: [{schedulerName: berth}, {schedulerName: packing}]}"); err != nil {
		return err
	}
	if err := s.replaced(ctx, slices.Collect(maps.Keys(before))); err != nil {
		return err
	}
	return s.placed(ctx, prefix+"-upgraded", "packing", "packing")
}

// replaced waits until the previous replicas have ended and three others run.
func (s *stage) replaced(ctx context.Context, before []string) error {
	return controlplane.Until(ctx, stepTimeout, "the previous replicas to end", func() (bool, error) {
		now := s.pods.Replicas()
		for _, name := range before {
			if _, old := now[name]; old {
				return false, nil
			}
		}
		return len(now) == 3, nil
	})
}

// failed upgrades to a file that Berth rejects: the upgrade fails, and enough replicas of the previous revision continue.
func (s *stage) failed(ctx context.Context, prefix string) error {
	file := s.control.File("wrong.yaml")
	text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {resourceName: berth}\n" +
		"profiles: [{schedulerName: berth}, {schedulerName: packing}]\nparalelism: 4\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := s.helmDoes(ctx, "upgrade", "berth", s.chart, "--wait", "--timeout", "5s", "--set-file", "configurationFile="+file)
	if err == nil {
		return errors.New("an upgrade to a wrong configuration succeeds")
	}
	err = controlplane.Until(ctx, stepTimeout, "a replica to reject its configuration", func() (bool, error) {
		for _, c := range s.pods.Replicas() {
			if strings.Contains(c.Logged(), `did you mean \"parallelism\"`) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	return s.placed(ctx, prefix+"-failed", "packing", "packing")
}

// rolledBack returns to the second revision, then to the first.
func (s *stage) rolledBack(ctx context.Context, prefix string) error {
	for _, step := range []struct {
		revision string
		profile  string
	}{{"2", "packing"}, {"1", "berth"}} {
		if _, err := s.helmDoes(ctx, "rollback", "berth", step.revision, "--wait", "--timeout", "60s"); err != nil {
			return err
		}
		if err := s.replaced(ctx, nil); err != nil {
			return err
		}
		if err := s.placed(ctx, fmt.Sprintf("%s-revision-%s", prefix, step.revision), step.profile, step.profile); err != nil {
			return err
		}
	}
	left, err := s.control.Kubectl(ctx, nil, "-n", system, "get", "configmaps", "-l", "app.kubernetes.io/instance=berth", "-o", "jsonpath={.items[*].data}")
	if err != nil {
		return err
	}
	if strings.Contains(left, "packing") || strings.Contains(left, "paralelism") {
		s.AddError("the configuration of a later revision is left: %s", left)
	}
	return nil
}
