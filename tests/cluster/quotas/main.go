// Command quotas runs scenarios with elastic quotas in real clusters: once with the plugin CapacityScheduling of
// scheduler-plugins in kube-scheduler 1.33 and once with berth, from one configuration file. Every scenario states the
// pods that must be bound. berth also has the permissions, explanations and metrics of docs/guide/quotas.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	only      string
	reference string
	crd       string
	roles     string
	guide     string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("quotas", "--berth PATH --reference PATH [--only WORDS]",
		"Runs scenarios with elastic quotas, with CapacityScheduling of scheduler-plugins and with berth.\n"+
			"With --reference none only berth plays.")
	flags.StringVar(&o.only, "only", "", "only the scenarios with these `WORDS` in their name")
	flags.StringVar(&o.reference, "reference", "", "the `PATH` of tests/scheduler-plugins/scheduler, built")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.reference == "" {
		return nil, errors.New("give --reference")
	}
	var err error
	if o.reference != "none" {
		if o.reference, err = filepath.Abs(o.reference); err != nil {
			return nil, err
		}
	}
	if o.crd, err = controlplane.SchedulerPluginsDefinition("elasticquotas"); err != nil {
		return nil, err
	}
	if err := controlplane.InTree(&o.roles, "deploy/rbac"); err != nil {
		return nil, err
	}
	if err := controlplane.InTree(&o.guide, "docs/guide"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("quotas", parse, run) }

// run plays with all schedulers at the same time, each in a cluster of its own: they mostly wait.
func run(ctx context.Context, o *options, directory string) error {
	schedulers := []scheduler{{"berth", []string{o.Berth, "scheduler"}, append(scenarios(), ofBerth()...), false}}
	if o.reference != "none" {
		schedulers = append(schedulers, scheduler{"capacityscheduling", []string{o.reference}, scenarios(), true})
	}
	results := make(chan error)
	for _, one := range schedulers {
		go func() {
			if err := o.play(ctx, one, filepath.Join(directory, one.name)); err != nil {
				results <- fmt.Errorf("%s: %w", one.name, err)
				return
			}
			results <- nil
		}()
	}
	var wrong []error
	for range schedulers {
		wrong = append(wrong, <-results)
	}
	return errors.Join(wrong...)
}

// scheduler is a program and the scenarios that it plays.
type scheduler struct {
	name        string
	command     []string
	scenarios   []scenario
	isReference bool
}

func (o *options) play(ctx context.Context, scheduler scheduler, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	children := controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, &children)
	if err != nil {
		return err
	}
	s := &stage{ControlPlane: control, ctx: ctx, options: o, delayed: scheduler.isReference}
	if err := s.install(); err != nil {
		return err
	}
	if err := s.start(&children, scheduler); err != nil {
		return err
	}
	violations := 0
	for _, one := range scheduler.scenarios {
		if !strings.Contains(one.name, o.only) {
			continue
		}
		started := time.Now()
		wrong := s.try(one)
		if wrong != nil && scheduler.isReference {
			// It sometimes evicts a pod too many on a busy machine, for which nothing waits then.
			fmt.Printf("%s: %s: %v; it is played again\n", scheduler.name, one.name, wrong)
			wrong = s.try(one)
		}
		fmt.Printf("%-18s %-66s %3.0f s\n", scheduler.name, one.name, time.Since(started).Seconds())
		if wrong != nil {
			fmt.Printf("VIOLATION: %s: %s: %v\n", scheduler.name, one.name, wrong)
			violations++
		}
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	return nil
}
