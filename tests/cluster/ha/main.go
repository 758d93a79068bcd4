// Command ha runs several schedulers with leader election against a real API server, stops the leader in various
// ways, and checks the takeover.
//
// Pods are created continuously, some with claims for devices, and some as members of gangs. The histories of pods, claims
// and of the Lease must show: every pod is bound, none twice; no gang is bound in part, and no member of a gang that does
// not fit is bound at any time; no node is overcommitted without a report; no device is allocated twice at any
// time; the record, its transitions and the events are those of client-go's leader election; the processes exit with
// kube-scheduler's codes. A binding that arrives late is reported. The time from the end of the lease to the first
// binding of the next leader is printed, and has a limit for berth.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	only        string
	long        bool
	nodes, pods int
	election    controlplane.Election
}

func parse(args []string) (*options, error) {
	o := options{election: controlplane.QuickElection()}
	flags := o.Flags("ha", "--berth PATH", "Takes the leader away from schedulers that stand by for each other, and checks what comes of it.")
	flags.StringVar(&o.only, "only", "", "only scenarios whose name contains this")
	flags.BoolVar(&o.long, "long", false, "leases of 15 s, 5,000 nodes and 30,000 bound pods; some six minutes")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.nodes = 24
	if o.long {
		o.election = controlplane.Election{Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second}
		o.nodes, o.pods = 5000, 30000
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("ha", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children, groupGate, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	if err != nil {
		return err
	}
	if err := prepare(ctx, o, control.Client); err != nil {
		return err
	}
	watching, err := startWatcher(ctx, control.Client)
	if err != nil {
		return err
	}
	defer watching.stop()
	violations, played := 0, 0
	play := func(name string, how func(context.Context, *stage) (string, []string, error)) error {
		stage := &stage{options: o, control: control, children: children, watcher: watching, id: fmt.Sprintf("ha-%d", played)}
		row, wrong, err := how(ctx, stage)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", name, stage.id, err)
		}
		fmt.Println(row)
		played++
		for _, what := range wrong {
			violations++
			fmt.Printf("VIOLATION: %s (%s): %s\n", name, stage.id, what)
		}
		return nil
	}
	for _, s := range scenarios(o) {
		if !strings.Contains(s.name(), o.only) {
			continue
		}
		err := play(s.name(), func(ctx context.Context, stage *stage) (string, []string, error) {
			stage.scenario = s
			return stage.play(ctx)
		})
		if err != nil {
			return err
		}
	}
	if !o.long && strings.Contains(lateName, o.only) {
		if err := play(lateName, playLate); err != nil {
			return err
		}
	}
	if played == 0 {
		return fmt.Errorf("no scenario is named like %q", o.only)
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	fmt.Printf("%d changes of leader, no violation\n", played)
	return nil
}
