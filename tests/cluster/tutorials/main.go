// Command tutorials runs the four tutorials from which most schedulers with custom plugins are copied, with Berth's
// image: on a real API server with RBAC, with the manifests of examples/tutorials.
//
// It simulates the kubelet: a scheduler's container is a process with the command line, the mounts, the environment
// and the names of its pod. A real Prometheus scrapes nodes with known traffic and load, so that the expected
// placements and log lines are known.
package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	examples string
	only     string
	verbose  bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("tutorials", "--berth PATH", "Runs the tutorials of examples/tutorials on a real API server. Needs prometheus, python3 and unshare, and root or user namespaces.")
	flags.StringVar(&o.examples, "examples", "", "the directory examples/tutorials; found from the root of the tree or tests/")
	flags.StringVar(&o.only, "only", "", "run only this tutorial")
	flags.BoolVar(&o.verbose, "verbose", false, "print the schedulers' logs")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for _, program := range []string{"prometheus", "python3", "unshare", "chroot", "hostname"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w (script/setup --monitoring installs prometheus)", err)
		}
	}
	if err := controlplane.InTree(&o.examples, "examples/tutorials"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

// scenario is one tutorial.
type scenario struct {
	name string
	play func(s *stage, ctx context.Context) error
	// default is set if its scheduler replaces kube-scheduler; otherwise kube-scheduler runs and places its pod.
	replaces bool
}

var scenarios = []scenario{
	{name: "custom", play: (*stage).custom},
	{name: "sample-plugin", play: (*stage).samplePlugin},
	{name: "network-traffic", play: (*stage).networkTraffic, replaces: true},
	{name: "extender-policy", play: (*stage).extenderPolicy, replaces: true},
}

func main() { controlplane.Main("tutorials", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	began := time.Now()
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	s, err := setUp(ctx, o, directory, children)
	if err != nil {
		return err
	}
	var all []controlplane.Scenario
	for _, one := range scenarios {
		all = append(all, controlplane.Scenario{Name: one.name, Play: func(ctx context.Context) []string {
			return s.TakeErrors(s.run(ctx, one))
		}})
	}
	if err := controlplane.PlayScenarios(ctx, o.only, all); err != nil {
		return err
	}
	fmt.Printf("tutorials run unchanged; %.0f s\n", time.Since(began).Seconds())
	return nil
}
