// Command scenarios runs small scenarios in a real cluster, each once with kube-scheduler and once with
// berth, and compares the results: placements, conditions and events in their order, nominations, and the
// number of requests.
package main

import (
	"context"
	"errors"
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
	results       string
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
	flags.StringVar(&o.results, "results", "", "write the results as JSON to this `FILE`")
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
		return needing(podGroups, groupingInTrees())
	case o.topology:
		return needing(podGroups, groupingByTopology())
	case o.groups:
		return needing(podGroups, grouping())
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
	release, err := controlplane.ReleaseOf(o.Real)
	if err != nil {
		return err
	}
	found := &results{Release: release.Name}
	if chosen = found.leaveOut(out, release, chosen); len(chosen) == 0 {
		return errors.Join(found.write(o.results), found.summary(out))
	}
	started := time.Now()
	pool, err := openPool(ctx, min(o.lanes, len(chosen)), o.Real, directory, o.gates())
	defer pool.close()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d control planes %s are up\n", time.Since(started).Seconds(), len(pool.lanes), release.Name)
	original := kind{name: "kube-scheduler", command: []string{o.Real, "kube-scheduler"}}
	reference, err := pool.play(ctx, original, chosen)
	if err != nil {
		return err
	}
	// On a busy machine the order of events may be another one than the scenario is about.
	failed := placesOf(reference, func(o *outcome) bool { return o.err != nil })
	if err := pool.playAgain(ctx, reference, chosen, failed, original.numbered(2)); err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d scenarios played with kube-scheduler, %d of them twice\n", time.Since(started).Seconds(), len(chosen), len(failed))
	if o.alone {
		return reportReference(out, o, chosen, reference)
	}
	berthOutcomes, err := pool.play(ctx, kind{name: "berth", command: []string{o.Berth, "scheduler"}, berth: true}, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  %d scenarios played with berth\n", time.Since(started).Seconds(), len(chosen))
	compared := make([]result, len(chosen))
	for i, sc := range chosen {
		compared[i] = sc.evaluate(release, reference[i], berthOutcomes[i])
		report(out, o, sc, compared[i], reference[i], berthOutcomes[i])
	}
	// kube-scheduler does not behave in the same way each time: the controllers' writes come sooner or later. An outcome of
	// berth is right if kube-scheduler has the same one in one of three runs.
	for number := 3; number <= 4; number++ {
		differing := placesOf(compared, func(r result) bool { return r.Verdict == different })
		if err := pool.playAgain(ctx, reference, chosen, differing, original.numbered(number)); err != nil {
			return err
		}
		for _, i := range differing {
			compared[i] = chosen[i].evaluate(release, reference[i], berthOutcomes[i])
			fmt.Fprintf(out, "kube-scheduler plays again: ")
			report(out, o, chosen[i], compared[i], reference[i], berthOutcomes[i])
		}
	}
	found.Scenarios = append(found.Scenarios, compared...)
	if err := found.write(o.results); err != nil {
		return err
	}
	return found.summary(out)
}

// placesOf returns the indices of the elements with this property.
func placesOf[T any](elements []T, property func(T) bool) (places []int) {
	for i, element := range elements {
		if property(element) {
			places = append(places, i)
		}
	}
	return places
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

// report prints the result of a scenario.
func report(out io.Writer, o *options, sc *scenario, r result, reference, berth *outcome) {
	verdict := r.Verdict
	if verdict == different {
		verdict = "DIFFERENT"
	} else if r.Why != "" {
		verdict += " but for: " + r.Why
	}
	fmt.Fprintf(out, "%s: %s (%.1f s, %.1f s; %s)\n", sc.name, verdict, reference.seconds, berth.seconds, requestLine(reference.requests, berth.requests))
	for _, line := range r.Differences {
		fmt.Fprintln(out, "    "+line)
	}
	differs := r.Verdict == different
	if o.verbose || differs {
		for _, line := range reference.lines {
			fmt.Fprintln(out, "    kube-scheduler | "+line)
		}
	}
	if o.verbose && sc.differs != nil || differs {
		for _, line := range berth.lines {
			fmt.Fprintln(out, "    berth          | "+line)
		}
	}
}
