// Command end2end runs a scheduler against a real API server and checks its results with an independent watch.
//
// It starts etcd and kube-apiserver, creates nodes and pods, starts the scheduler under test and waits until every
// pod that fits some node is bound. Then it checks the history of the watch: no pod may have been bound twice, and no
// node overcommitted at any time. For unschedulable pods the texts are compared with those of the real kube-scheduler
// in the same cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	scheduler []string
	auth      string
	nodes     int
	pods      int
	timeout   time.Duration
	chaos     bool
	faults    bool
	access    bool
	long      bool
	seed      uint64
	seeds     int
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("end2end", "--berth PATH | --scheduler-cmd \"COMMAND ARGUMENTS\"",
		"Runs a scheduler against etcd and kube-apiserver and checks every step of what it did.")
	command := flags.String("scheduler-cmd", "", "another scheduler that takes kube-scheduler's flags, with its first arguments; the word real is kube-scheduler itself")
	flags.StringVar(&o.auth, "auth", "cert", "how the scheduler proves who it is: cert, as system:kube-scheduler, or token, as a user with that role; with --chaos and --faults always token")
	flags.IntVar(&o.nodes, "nodes", 500, "number of nodes, at least 20")
	flags.IntVar(&o.pods, "pods", 2000, "number of pods that fit, at most 10 per node")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "longest time until all pods are bound")
	flags.BoolVar(&o.chaos, "chaos", false, "instead: the leader of two schedulers and the API server are killed twice each, connections are cut, etcd is compacted")
	flags.BoolVar(&o.faults, "faults", false, "instead: the API server hangs, resets, throttles, fails, sends malformed data; only for berth")
	flags.BoolVar(&o.access, "access", false, "instead: merged kubeconfigs, a credential plugin, proxies; only for berth")
	flags.BoolVar(&o.long, "long", false, "with --faults: faults last for minutes")
	flags.Uint64Var(&o.seed, "seed", 1, "with --chaos: where and when things are cut")
	flags.IntVar(&o.seeds, "seeds", 1, "with --chaos: number of runs, with seeds from --seed on")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if (o.Berth == "") == (*command == "") {
		return nil, errors.New("give either --berth or --scheduler-cmd")
	}
	if o.auth != "cert" && o.auth != "token" {
		return nil, fmt.Errorf("--auth is cert or token, not %q", o.auth)
	}
	if o.nodes < 20 || o.pods < 1 || o.pods > 10*o.nodes {
		return nil, fmt.Errorf("%d pods on %d nodes: at least 20 nodes, at most 10 pods for each", o.pods, o.nodes)
	}
	if o.chaos && o.pods < 200 {
		return nil, fmt.Errorf("%d pods: --chaos needs at least 200, so that each of its steps has gangs and claims", o.pods)
	}
	if err := o.Complete(); err != nil {
		return nil, err
	}
	switch {
	case o.Berth != "":
		o.scheduler = []string{o.Berth, "scheduler"}
	case *command == "real":
		o.scheduler = []string{o.Real, "kube-scheduler"}
	default:
		o.scheduler = strings.Fields(*command)
	}
	return &o, nil
}

func main() { controlplane.Main("end2end", parse, play) }

// play is the run that was asked for.
func play(ctx context.Context, o *options, directory string) error {
	scenario := run
	switch {
	case o.chaos:
		scenario = runChaos
	case o.faults:
		scenario = runFaults
	case o.access:
		scenario = runAccess
	}
	return scenario(ctx, o, directory, os.Stdout)
}

func run(ctx context.Context, o *options, directory string, out io.Writer) error {
	printf := newPrinter(out)
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()

	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return err
	}
	printf("etcd and kube-apiserver are up")

	work := newWorkload(o.nodes, o.pods)
	if err := work.prepare(ctx, control.Client); err != nil {
		return err
	}
	reader, err := startReader(ctx, control.Client)
	if err != nil {
		return err
	}
	defer reader.stop()
	// Half of the pods are waiting when the scheduler starts, the others arrive while it works.
	before, after := work.halves()
	if err := createPods(ctx, control.Client, before); err != nil {
		return err
	}
	printf("%d nodes and %d pods created", len(work.nodes), len(before))

	scheduler, err := control.StartScheduler(children, "scheduler-under-test", o.scheduler, "default-scheduler", o.auth)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := createPods(ctx, control.Client, after); err != nil {
		return err
	}
	printf("%d more pods created while the scheduler works", len(after))
	if err := work.disturb(ctx, control.Client, reader); err != nil {
		return err
	}
	bound, err := waitUntilBound(ctx, reader, work, scheduler.Alive, o.timeout)
	if err != nil {
		return err
	}
	seconds := bound.last.Sub(bound.first).Seconds()
	printf("all %d pods bound, %.1f s after the start of the scheduler", len(work.fitting), bound.last.Sub(started).Seconds())
	printf("first to last binding %.1f s, %.0f pods per second, %.2f CPU seconds (%.2f ms per pod)",
		seconds, float64(len(work.fitting))/max(seconds, 0.001), scheduler.CPUSeconds(), 1000*scheduler.CPUSeconds()/float64(len(work.fitting)))

	var violations []string
	events, err := waitForEvents(ctx, control.Client, work, scheduler)
	if err != nil {
		return err
	}
	violations = append(violations, events...)
	if err := waitUntilRefused(ctx, reader, work.refused, scheduler); err != nil {
		return err
	}
	printf("events and conditions are there")
	if code := scheduler.Stop(); code != "" {
		printf("the scheduler exited with %s", code)
	}
	violations = append(violations, reader.history().check(work)...)

	// The reference refuses the twins of the pods that fit nowhere, in the cluster as it is now.
	reference, err := control.StartScheduler(children, "kube-scheduler", []string{o.Real, "kube-scheduler"}, controlplane.ReferenceName, "cert")
	if err != nil {
		return err
	}
	if err := waitUntilRefused(ctx, reader, work.twins, reference); err != nil {
		return err
	}
	differences, err := compareRefusals(ctx, control.Client, work)
	if err != nil {
		return err
	}
	violations = append(violations, differences...)
	reference.Stop()
	printf("%d refusals compared with kube-scheduler's", len(work.refused))

	return verdict(violations, out, printf)
}

// speaker prints lines with the time since now.
func newPrinter(out io.Writer) func(format string, args ...any) {
	started := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
	}
}

func verdict(violations []string, out io.Writer, printf func(format string, args ...any)) error {
	if len(violations) > 0 {
		const most = 30
		for _, v := range violations[:min(most, len(violations))] {
			fmt.Fprintln(out, "VIOLATION:", v)
		}
		return fmt.Errorf("%d violations", len(violations))
	}
	printf("no violation")
	return nil
}
