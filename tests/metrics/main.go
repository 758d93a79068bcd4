// Command metrics runs kube-scheduler and berth with the same workload, each in its own cluster, and compares
// their metrics: berth must have every series name and label set of kube-scheduler, with the same type and
// help, and deterministic values must be equal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"berth.test/cluster/controlplane"
)

func main() {
	berth := flag.String("berth", "", "path of the program berth")
	real := flag.String("real", "", "Kubernetes' control plane (tests/cluster/build)")
	keep := flag.String("keep", "", "a directory for metrics and logs (default: not kept)")
	flag.Parse()
	if err := run(*berth, *real, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

func run(berth, real, keep string) error {
	if berth == "" || real == "" {
		return errors.New("--berth and --real are needed")
	}
	for _, path := range []*string{&berth, &real} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	directory := keep
	if directory == "" {
		temporary, err := os.MkdirTemp("", "berth-metrics")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		directory = temporary
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	reference, err := observe(ctx, children, "kube-scheduler", berth, []string{real, "kube-scheduler"})
	if err != nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	candidate, err := observe(ctx, children, "berth", berth, []string{berth, "scheduler"})
	if err != nil {
		return fmt.Errorf("berth: %w", err)
	}
	differences := compare(reference, candidate)
	for _, difference := range differences {
		fmt.Println("DIFFERENT", difference)
	}
	fmt.Printf("%d families of kube-scheduler's, %d series compared, %d differences\n", reference.families(), reference.series(), len(differences))
	if len(differences) > 0 {
		return errors.New("the metrics of berth differ from kube-scheduler's")
	}
	return nil
}
