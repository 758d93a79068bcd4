// Command deploy tests deploy/ on a cluster: Berth as a second scheduler by kustomize, and as the replacement of
// kube-scheduler on a control-plane node.
//
// A real API server with RBAC validates every object; real controllers create the pods, a real kube-scheduler places
// them. This program simulates the kubelet: replicas are processes with the command line, the mounts, the token, the
// user and the restrictions of their pods. NetworkPolicies are only validated: there is no pod network.
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
	deploy  string
	guide   string
	only    string
	node    string
	verbose bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("deploy", "--berth PATH", "Runs the manifests and the script of deploy/ on a real API server. Needs unshare, and root or user namespaces.")
	flags.StringVar(&o.deploy, "deploy", "", "the directory deploy; found from the root of the tree or tests/")
	flags.StringVar(&o.guide, "guide", "", "the directory docs/guide, whose commands must all be run; found likewise")
	flags.StringVar(&o.only, "only", "", "run only this scenario")
	flags.StringVar(&o.node, "node", "", "run nothing: make this `DIRECTORY` the control-plane node of a cluster, which stays while standard input is open")
	flags.BoolVar(&o.verbose, "verbose", false, "print each command and its output")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for _, program := range []string{"unshare", "chroot", "setpriv", "hostname"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(controlplane.InTree(&o.deploy, "deploy"), controlplane.InTree(&o.guide, "docs/guide")); err != nil {
		return nil, err
	}
	if o.node != "" {
		var err error
		if o.node, err = filepath.Abs(o.node); err != nil {
			return nil, err
		}
	}
	return &o, o.CompleteWithBerth()
}

var scenarios = []struct {
	name string
	play func(s *stage, ctx context.Context) error
}{
	{"manifests", (*stage).manifests},
	{"beside", (*stage).beside},
	{"unknown manifests", (*stage).unknownManifests},
	{"replace", (*stage).replace},
}

func main() { controlplane.Main("deploy", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	if o.node != "" {
		return hold(ctx, o, directory)
	}
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
			return s.TakeErrors(one.play(s, ctx))
		}})
	}
	if err := controlplane.PlayScenarios(ctx, o.only, all); err != nil {
		return err
	}
	fmt.Printf("deployed beside kube-scheduler and in its place; %.0f s\n", time.Since(began).Seconds())
	return nil
}
