// Command kueue runs scenarios of Kueue and JobSet with kube-scheduler and with berth on a real API server, and compares what
// becomes of Jobs, JobSets and pods.
//
// Kueue suspends Jobs and gates pods by its webhooks until their queue has quota; the scheduler binds what Kueue has
// admitted. This program runs the pods, as kubelets do, and checks that no pod is bound twice and no node overcommitted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	kueue  string
	jobset string
	only   string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("kueue", "--berth PATH --kueue PATH --jobset PATH [--only WORDS]",
		"Runs scenarios of Kueue and JobSet with kube-scheduler and with berth, and compares the outcomes.")
	flags.StringVar(&o.kueue, "kueue", "", "the `PATH` of tests/kueue, built")
	flags.StringVar(&o.jobset, "jobset", "", "the `PATH` of tests/jobset, built")
	flags.StringVar(&o.only, "only", "", "only the scenarios with these `WORDS` in their name")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for _, path := range []*string{&o.kueue, &o.jobset} {
		if *path == "" {
			return nil, errors.New("give --kueue and --jobset")
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return nil, err
		}
		*path = absolute
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("kueue", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	reference, err := o.play(ctx, "kube-scheduler", []string{o.Real, "kube-scheduler"}, directory)
	if err != nil {
		return err
	}
	outcomes, err := o.play(ctx, "berth", []string{o.Berth, "scheduler", "--berth-http-address=127.0.0.1:0"}, directory)
	if err != nil {
		return err
	}
	different := 0
	for i, expected := range reference {
		if slices.Equal(expected.lines, outcomes[i].lines) {
			fmt.Printf("%s: alike: %s\n", expected.name, strings.Join(expected.lines, "; "))
			continue
		}
		different++
		fmt.Printf("%s: DIFFERENT\n    kube-scheduler | %s\n    berth          | %s\n", expected.name,
			strings.Join(expected.lines, "; "), strings.Join(outcomes[i].lines, "; "))
	}
	if different > 0 {
		return fmt.Errorf("%d of %d scenarios differ", different, len(reference))
	}
	fmt.Printf("all %d scenarios alike\n", len(reference))
	return nil
}

// outcome is what a scenario observed, without names that vary between runs.
type outcome struct {
	name  string
	lines []string
}

// play runs the scenarios, each on a control plane of its own, so that no queue of another one is left.
func (o *options) play(ctx context.Context, scheduler string, command []string, directory string) ([]outcome, error) {
	var outcomes []outcome
	for i, one := range scenarios {
		if !strings.Contains(one.name, o.only) {
			continue
		}
		lines, err := o.playOne(ctx, one, scheduler, command, filepath.Join(directory, fmt.Sprintf("%s-%d", scheduler, i+1)))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", scheduler, one.name, err)
		}
		outcomes = append(outcomes, outcome{one.name, lines})
	}
	if len(outcomes) == 0 {
		return nil, fmt.Errorf("no scenario is called %q", o.only)
	}
	return outcomes, nil
}

func (o *options) playOne(ctx context.Context, one scenario, scheduler string, command []string, directory string) ([]string, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return nil, err
	}
	if _, err := control.StartControllers("job-controller", "garbage-collector-controller"); err != nil {
		return nil, err
	}
	managers := []manager{kueue(o.kueue, one.configuration)}
	if one.jobset {
		managers = append(managers, jobset(o.jobset))
	}
	var programs []*controlplane.Child
	for _, m := range managers {
		program, err := m.start(ctx, control, children)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	program, err := control.StartScheduler(children, scheduler, command, "default-scheduler", "token")
	if err != nil {
		return nil, err
	}
	s := newStage(ctx, control, append(programs, program))
	err = controlplane.Played(func() {
		one.run(s)
		s.checkBindings()
	})
	s.close()
	return s.lines, errors.Join(err, s.broken)
}
