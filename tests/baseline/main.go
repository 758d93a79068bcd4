// Command baseline runs kube-scheduler's own algorithm on the clusters and pods of Berth's benchmarks, in process.
//
// The scheduler comes from its own constructor with all default plugins; there is no API server, no queue and no
// binding. A decision is the scheduling cycle of a pod: update the snapshot, prepare the pod, call SchedulePod, after a
// failure the PostFilter plugins (without evictions), and assume the pod on its node before the next decision. Prints
// one JSON object per round.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

type options struct {
	events   string
	config   string
	name     string
	allNodes bool
	rounds   int
	groups   bool
	profile  string
	version  bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("baseline", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage: baseline --events FILE\n\n"+
			"Runs kube-scheduler's own algorithm on the output of bench_decisions --dump.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.events, "events", "", "`FILE` of watch events, one per line; - is standard input")
	flags.StringVar(&o.config, "config", "", "a KubeSchedulerConfiguration `FILE` instead of the default one")
	flags.StringVar(&o.name, "name", "", "name of the benchmark in the output; default: decisions, or groups with --groups")
	flags.BoolVar(&o.allNodes, "all-nodes", false, "evaluate all nodes (percentageOfNodesToScore 100) instead of a sample")
	flags.BoolVar(&o.groups, "groups", false, "schedule the pod groups of bench_groups --dump with a complete scheduler, from the queue to the bindings")
	flags.IntVar(&o.rounds, "rounds", 1, "number of rounds, each from the start")
	flags.StringVar(&o.profile, "cpu-profile", "", "write a CPU profile of the rounds to this `FILE`, for go tool pprof")
	flags.BoolVar(&o.version, "version", false, "print the version of kube-scheduler and exit")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.version {
		return &o, nil
	}
	if o.events == "" || flags.NArg() > 0 || o.rounds < 1 {
		return nil, errors.New("give --events FILE, and at least one round; --help lists the flags")
	}
	return &o, nil
}

// version returns the release of Kubernetes in this program and the version of Go.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range build.Deps {
			if module.Path == "k8s.io/kubernetes" {
				return fmt.Sprintf("kube-scheduler %s, %s", module.Version, build.GoVersion)
			}
		}
	}
	return "kube-scheduler of an unknown release"
}

func run(o *options) error {
	if o.version {
		fmt.Println(version())
		return nil
	}
	klog.SetLogger(logr.Discard())
	scenario, err := readScenario(o.events)
	if err != nil {
		return err
	}
	if o.groups {
		if err := utilfeature.DefaultMutableFeatureGate.Set(groupGates); err != nil {
			return err
		}
	}
	config, err := loadConfig(o.config, o.allNodes)
	if err != nil {
		return err
	}
	measure := func() (*result, error) { return decideAll(config, scenario, len(scenario.turns)) }
	name, unit := "decisions", "decisions/s"
	if o.groups {
		measure = func() (*result, error) { return scheduleGroups(config, scenario) }
		name, unit = "groups", "pods/s"
	} else if _, err := decideAll(config, scenario, (len(scenario.turns)+4)/5); err != nil { // warm-up
		return err
	}
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for range o.rounds {
		result, err := measure()
		if err != nil {
			return err
		}
		result.Name, result.Unit, result.Nodes = cmp.Or(o.name, name), unit, scenario.nodes
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}
