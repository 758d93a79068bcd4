// Command privilege checks that the roles in deploy/rbac are sufficient and minimal for berth.
//
// A real API server with RBAC writes an audit log. Berth runs with the service account of deploy/rbac, as leader and
// as standby, with and without streamed lists, on a workload that causes every kind of request. No request may be
// denied or allowed by another role, and every verb of every rule must have been used. In parallel other accounts run
// with one verb removed: it must be denied and named in their logs.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	manifests string
	verbose   bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("privilege", "--berth PATH", "Runs berth with the roles of deploy/rbac, and with each verb of theirs taken away.")
	flags.StringVar(&o.manifests, "manifests", "", "the directory deploy/rbac; found from the root of the tree or tests/")
	flags.BoolVar(&o.verbose, "verbose", false, "print by whom each permission was used")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if err := controlplane.InTree(&o.manifests, "deploy/rbac"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("privilege", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	began := time.Now()
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.StartAudited(ctx, o.Real, directory, children, `userGroups: ["system:serviceaccounts:kube-system"]`)
	if err != nil {
		return err
	}
	// As the guide says.
	if _, err := control.Kubectl(ctx, nil, "apply", "-k", o.manifests); err != nil {
		return err
	}
	actors, err := cast(ctx, control)
	if err != nil {
		return err
	}
	for _, a := range actors {
		a.options, a.children, a.audit = o, children, control.AuditLog()
		if err := a.prepare(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	var group sync.WaitGroup
	for _, a := range actors {
		group.Go(func() {
			if err := a.play(ctx); err != nil {
				a.addError("%v", err)
			}
		})
	}
	group.Wait()
	violations := 0
	for _, a := range actors {
		fmt.Printf("%-28s %2d permissions, %s\n", a.title(), len(a.wanted()), a.done())
		for _, what := range a.wrong {
			violations++
			fmt.Printf("VIOLATION: %s: %s\n", a.name, what)
		}
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	if unused := actors[0].inapplicable(); unused > 0 {
		fmt.Printf("%d permissions are for resources and features that this release does not have by default\n", unused)
	}
	fmt.Printf("%d permissions: all are used, each is missed where it is taken away, nothing else is needed; %.0f s\n",
		len(actors[0].permissions), time.Since(began).Seconds())
	return nil
}
