package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

func runEvaluate(args []string, out, errOut io.Writer) error {
	flags := newFlags("evaluate", "[--config scheduler.yaml] -f dump.json [-f more.yaml]... [--pod namespace/name]...",
		"Prints one decision record per pending pod, one JSON object per line, in the order of the input.\n"+
			"Exit code: 0 all evaluated, 1 unusable input or configuration, 2 some objects or pods left out.", errOut)
	var files, only repeated
	flags.Var(&files, "f", "dump of a cluster, JSON or YAML, - for standard input; may be repeated")
	flags.Var(&only, "pod", "evaluate only this pod, namespace/name; may be repeated")
	configPath := flags.String("config", "", "KubeSchedulerConfiguration; kube-scheduler's defaults if missing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("no input: give at least one -f")
	}
	cfg, err := loadConfig(*configPath)
	if err != nil {
		return err
	}
	var dump Dump
	for _, file := range files {
		if err := dump.readFile(file); err != nil {
			return err
		}
	}
	cluster, err := newCluster(silence(), cfg, &dump)
	if err != nil {
		return err
	}
	defer cluster.close()

	problems := dump.Problems
	evaluated := make(map[string]bool)
	for _, pod := range dump.pendingPods() {
		if len(only) > 0 && !slices.Contains(only, podKey(pod)) {
			continue
		}
		evaluated[podKey(pod)] = true
		record, err := cluster.evaluateChecked(pod)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		line, err := record.line()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	for _, name := range only {
		if !evaluated[name] {
			problems = append(problems, "there is no pending pod "+name)
		}
	}
	if len(problems) > 0 {
		for _, problem := range problems {
			fmt.Fprintln(errOut, problem)
		}
		return &exitError{code: 2}
	}
	return nil
}
