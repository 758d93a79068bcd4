// Command scenarios runs small scenarios in a real cluster, each once with kube-scheduler and once with
// berth, and compares the results: placements, conditions and events in their order, nominations, and the
// number of requests.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	only          string
	lanes         int
	verbose, list bool
	alone         bool // run kube-scheduler only
	groups        bool // the scenarios of pod groups, with their feature gate
	topology      bool // those of groups with topology constraints
	trees         bool // those of composite groups and of the groups' preemption policies
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("scenarios", "--berth PATH [--only WORDS]", "Runs scenarios in a real cluster with kube-scheduler and with berth, and compares the outcomes.\n"+
		"With --berth none only kube-scheduler plays.")
	flags.StringVar(&o.only, "only", "", "only the scenarios with these `WORDS` in their name; several by |")
	flags.IntVar(&o.lanes, "lanes", 4, "number of control planes that play scenarios at a time")
	flags.BoolVar(&o.verbose, "verbose", false, "print the outcomes, not only the differences")
	flags.BoolVar(&o.groups, "groups", false, "the scenarios with pod groups, in clusters with the feature gate GenericWorkload")
	flags.BoolVar(&o.topology, "topology", false, "the scenarios with topology constraints of pod groups, in clusters with the feature gate TopologyAwareWorkloadScheduling, too")
	flags.BoolVar(&o.trees, "trees", false, "the scenarios with composite pod groups and with the groups' preemption policies, in clusters with all feature gates of groups")
	flags.BoolVar(&o.list, "list", false, "print the names and leave")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.list {
		return &o, nil
	}
	if o.lanes < 1 {
		return nil, fmt.Errorf("%d lanes", o.lanes)
	}
	if o.alone = o.Berth == "none"; o.alone {
		o.Berth = ""
		return &o, o.Complete()
	}
	return &o, o.CompleteWithBerth()
}

func (o *options) scenarios() []*scenario {
	switch {
	case o.trees:
		return groupingInTrees()
	case o.topology:
		return groupingByTopology()
	case o.groups:
		return grouping()
	}
	return allScenarios()
}

// gates are the feature gates of the chosen scenarios, empty for the defaults.
func (o *options) gates() string {
	switch {
	case o.trees:
		return "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,PodGroupPreemptionPolicy=true"
	case o.topology:
		return "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
	case o.groups:
		return "GenericWorkload=true"
	}
	return ""
}

func main() { controlplane.Main("scenarios", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	if o.list {
		for _, sc := range o.scenarios() {
			fmt.Println(sc.name)
		}
		return nil
	}
	out := os.Stdout
	var chosen []*scenario
	for _, sc := range o.scenarios() {
		named := func(words string) bool { return strings.Contains(sc.name, words) }
		if slices.ContainsFunc(strings.Split(o.only, "|"), named) {
			chosen = append(chosen, sc)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario is called %q", o.only)
	}
	started := time.Now()
	pool, err := openPool(ctx, min(o.lanes, len(chosen)), o.Real, directory, o.gates())
	defer pool.close()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d control planes are up\n", time.Since(started).Seconds(), len(pool.lanes))
	reference, err := pool.play(ctx, kind{name: "kube-scheduler", command: []string{o.Real, "kube-scheduler"}}, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d scenarios played with kube-scheduler\n", time.Since(started).Seconds(), len(chosen))
	if o.alone {
		return reportReference(out, o, chosen, reference)
	}
	berthOutcomes, err := pool.play(ctx, kind{name: "berth", command: []string{o.Berth, "scheduler"}, berth: true}, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d scenarios played with berth\n", time.Since(started).Seconds(), len(chosen))
	different := 0
	for i, sc := range chosen {
		if !report(out, o, sc, reference[i], berthOutcomes[i]) {
			different++
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %d scenarios differ", different, len(chosen))
	}
	fmt.Fprintf(out, "all %d scenarios alike\n", len(chosen))
	return nil
}

// reportReference prints the results of scenarios that ran with kube-scheduler only.
func reportReference(out io.Writer, o *options, chosen []*scenario, reference []*outcome) error {
	failed := 0
	for i, sc := range chosen {
		fmt.Fprintf(out, "%s: %.1f s, %s\n", sc.name, reference[i].seconds, requestLine(reference[i].requests, nil))
		if reference[i].err != nil {
			failed++
			fmt.Fprintf(out, "    FAILED: %v\n", reference[i].err)
		}
		if o.verbose || reference[i].err != nil {
			for _, line := range reference[i].lines {
				fmt.Fprintln(out, "    "+line)
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("kube-scheduler does not get through %d of %d scenarios", failed, len(chosen))
	}
	return nil
}

// report prints the differences and returns whether the outcomes are equal.
func report(out io.Writer, o *options, sc *scenario, reference, berth *outcome) bool {
	differences := sc.compare(reference, berth)
	verdict := "alike"
	if len(differences) > 0 {
		verdict = "DIFFERENT"
	} else if sc.differs != nil {
		verdict = "alike but for: " + sc.differs.why
	}
	fmt.Fprintf(out, "%s: %s (%.1f s, %.1f s; %s)\n", sc.name, verdict, reference.seconds, berth.seconds, requestLine(reference.requests, berth.requests))
	for _, line := range differences {
		fmt.Fprintln(out, "    "+line)
	}
	if o.verbose || len(differences) > 0 {
		for _, line := range reference.lines {
			fmt.Fprintln(out, "    kube-scheduler | "+line)
		}
	}
	if o.verbose && len(differences) == 0 && sc.differs != nil || len(differences) > 0 {
		for _, line := range berth.lines {
			fmt.Fprintln(out, "    berth          | "+line)
		}
	}
	return len(differences) == 0
}
