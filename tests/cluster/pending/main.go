// Command pending plays situations in which a pod stays pending, on a real kube-apiserver: berth explain names the
// reason and gives advice, the advice is applied to the objects of the cluster, and the pod must be bound to one of the
// nodes that the advice names. Then it checks what kubectl berth reads from the running scheduler.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	only  string
	table string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("pending", "--berth PATH [--only WORDS] [--table FILE]",
		"Applies the advice of berth explain to a real cluster, for every kind of pending pod.")
	flags.StringVar(&o.only, "only", "", "only the situations with these `WORDS` in their name")
	flags.StringVar(&o.table, "table", "", "writes a table of reasons, advice and nodes in Markdown to this `FILE`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("pending", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	s, err := newStage(ctx, o, directory)
	if err != nil {
		return err
	}
	defer s.children.StopAll()
	violations := 0
	var table strings.Builder
	table.WriteString("| situation | from the explanation | advice that was applied | pod bound to |\n|---|---|---|---|\n")
	for _, one := range situations() {
		if !strings.Contains(one.name, o.only) {
			continue
		}
		started := time.Now()
		result, wrong := s.play(one)
		fmt.Printf("%-62s %4.1f s  %s\n", one.name, time.Since(started).Seconds(), result.node)
		table.WriteString(result.row(one))
		if wrong != nil {
			fmt.Printf("VIOLATION: %s: %v\n", one.name, wrong)
			violations++
		}
	}
	if o.only == "" || strings.Contains("access", o.only) {
		for _, wrong := range s.checkAccess() {
			fmt.Printf("VIOLATION: access: %s\n", wrong)
			violations++
		}
	}
	if o.table != "" {
		if err := os.WriteFile(o.table, []byte(table.String()), 0o644); err != nil {
			return err
		}
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	return nil
}

// row is the row of a table in Markdown.
func (r *result) row(one situation) string {
	return fmt.Sprintf("| %s | `%s` | %s | %s |\n", one.name, one.reason, r.applied, r.node)
}
