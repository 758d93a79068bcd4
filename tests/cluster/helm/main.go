// Command helm tests the chart deploy/helm/berth on a cluster with each given Helm.
//
// A real API server with RBAC validates every object; real controllers create the pods, a real kube-scheduler places
// them. The package kubelet runs them with the command line, the mounts, the token, the user and the restrictions that
// the chart rendered. NetworkPolicies are only validated: there is no pod network.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	helms   []string
	chart   string
	cases   string
	only    string
	verbose bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("helm", "--berth PATH --helm PATH...", "Runs the Helm chart on a real API server. Needs unshare, cc, and root or user namespaces.")
	flags.Func("helm", "a Helm `PROGRAM`, as tests/helm/build prints it; may be repeated", func(path string) (err error) {
		path, err = filepath.Abs(path)
		o.helms = append(o.helms, path)
		return err
	})
	flags.StringVar(&o.chart, "chart", "", "the directory deploy/helm/berth; found from the root of the tree or tests/")
	flags.StringVar(&o.cases, "cases", "", "the directory tests/helm/cases with sets of values; found likewise")
	flags.StringVar(&o.only, "only", "", "run only this scenario")
	flags.BoolVar(&o.verbose, "verbose", false, "print each command and its output")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if len(o.helms) == 0 {
		return nil, errors.New("give --helm")
	}
	for _, program := range append([]string{"unshare", "chroot", "setpriv", "hostname", "cc"}, o.helms...) {
		if _, err := exec.LookPath(program); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(controlplane.InTree(&o.chart, "deploy/helm/berth"), controlplane.InTree(&o.cases, "tests/helm/cases")); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

// scenarios run with the first Helm; lifecycle runs with each.
var scenarios = []struct {
	name string
	play func(s *stage, ctx context.Context) error
}{
	{"objects", (*stage).objects},
	{"plugin", (*stage).plugin},
	{"replacement", (*stage).replacement},
	{"shadow", (*stage).shadow},
	{"extender", (*stage).extender},
}

func main() { controlplane.Main("helm", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	began := time.Now()
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	s, err := setUp(ctx, o, directory, children)
	if err != nil {
		return err
	}
	var all []controlplane.Scenario
	add := func(name, helm string, play func(s *stage, ctx context.Context) error) {
		all = append(all, controlplane.Scenario{Name: name, Play: func(ctx context.Context) []string {
			s.helm = helm
			return s.TakeErrors(play(s, ctx))
		}})
	}
	for i, helm := range o.helms {
		add(fmt.Sprintf("lifecycle-%d", i+1), helm, (*stage).lifecycle)
	}
	for _, one := range scenarios {
		add(one.name, o.helms[0], one.play)
	}
	if err := controlplane.PlayScenarios(ctx, o.only, all); err != nil {
		return err
	}
	fmt.Printf("the chart was installed, changed, rolled back and removed with %d Helms; %.0f s\n", len(o.helms), time.Since(began).Seconds())
	return nil
}
