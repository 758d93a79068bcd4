// Command hostile measures what pod authors and clients without credentials can do to a scheduler: the attacks of
// docs/security.md on berth and on kube-scheduler, against a real API server.
//
// Each attack meets a new process of each scheduler in turn. Meanwhile another user creates ordinary pods one after
// the other, and another client requests /healthz. Then the objects are deleted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	scale   float64
	only    []string
	with    []string
	settle  time.Duration
	limit   time.Duration
	noTimes bool
}

const berth, reference = "berth", "kube-scheduler"

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("hostile", "--berth PATH [flags]",
		"Attacks berth and kube-scheduler as a user with the role edit, and as a client without credentials.\n"+
			"Prints a Markdown table. Every ordinary pod must be bound. berth must free the memory, may use as much CPU as\n"+
			"kube-scheduler, and may delay others twice as long plus a second.")
	only := flags.String("only", "", "attacks, separated by commas, of "+strings.Join(names(), ", ")+"; empty: all")
	with := flags.String("with", berth+","+reference, "schedulers; with one of them nothing is compared")
	flags.Float64Var(&o.scale, "scale", 1, "factor of the numbers of nodes, objects, connections and requests, down to fixed minimums")
	flags.DurationVar(&o.settle, "settle", 30*time.Second, "time between the deletion of the objects and the measurement of the memory")
	flags.DurationVar(&o.limit, "limit", 5*time.Minute, "longest time until an ordinary pod is bound")
	flags.BoolVar(&o.noTimes, "no-times", false, "for machines with other load: times are printed, but not compared")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.scale <= 0 || o.scale > 1 {
		return nil, fmt.Errorf("--scale is above 0 and at most 1, not %g", o.scale)
	}
	o.only, o.with = split(*only), split(*with)
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("--only: there is no attack %q", name)
		}
	}
	for _, name := range o.with {
		if name != berth && name != reference {
			return nil, fmt.Errorf("--with: %q is neither %s nor %s", name, berth, reference)
		}
	}
	if len(o.with) == 0 {
		return nil, errors.New("--with names no scheduler")
	}
	return &o, o.CompleteWithBerth()
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

func main() { controlplane.Main("hostile", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	s, err := newStage(ctx, o, directory, children)
	if err != nil {
		return err
	}
	var rows []row
	for _, a := range attacks {
		if len(o.only) > 0 && !slices.Contains(o.only, a.name) {
			continue
		}
		r := row{attack: a, results: map[string]*result{}}
		for _, scheduler := range o.with {
			begun := time.Now()
			r.results[scheduler], err = s.measure(ctx, a, scheduler)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", a.name, scheduler, err)
			}
			fmt.Fprintf(os.Stderr, "%-20s %-14s %4.0f s: %s\n", a.name, scheduler, time.Since(begun).Seconds(), r.results[scheduler])
		}
		rows = append(rows, r)
	}
	printTable(os.Stdout, o.with, rows)
	var violations []string
	for _, r := range rows {
		violations = append(violations, r.check()...)
		if !o.noTimes {
			violations = append(violations, r.checkTimes()...)
		}
	}
	for _, v := range violations {
		fmt.Println("VIOLATION:", v)
	}
	if len(violations) > 0 {
		return fmt.Errorf("%d violations", len(violations))
	}
	return nil
}
