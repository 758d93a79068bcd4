// Command kueue runs scenarios of Kueue and JobSet with kube-scheduler and with berth on a real API server, and compares what
// becomes of Jobs, JobSets and pods.
//
// Kueue suspends Jobs and gates pods by its webhooks until their queue has quota; the scheduler binds what Kueue has
// admitted. This program runs the pods, as kubelets do, and checks that no pod is bound twice and no node overcommitted.
package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

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

// run plays each scenario on a control plane of its own, so that no queue of another one is left.
func run(ctx context.Context, o *options, directory string) error {
	var compared []controlplane.Compared
	for _, one := range scenarios {
		compared = append(compared, controlplane.Compared{Name: one.name, Play: func(ctx context.Context, scheduler controlplane.Scheduler, directory string) ([]string, error) {
			return o.play(ctx, one, scheduler, directory)
		}})
	}
	return o.CompareSchedulers(ctx, o.only, directory, compared)
}

func (o *options) play(ctx context.Context, one scenario, scheduler controlplane.Scheduler, directory string) ([]string, error) {
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
	program, err := control.StartScheduler(children, scheduler.Name, scheduler.Command, "default-scheduler", "token")
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
