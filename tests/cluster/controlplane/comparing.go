package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Scheduler is a program that schedules pods.
type Scheduler struct {
	Name    string
	Command []string
}

// Compared is a scenario that kube-scheduler and berth play, each in a directory of its own. The lines are what it observed,
// without names that vary between runs.
type Compared struct {
	Name string
	Play func(ctx context.Context, scheduler Scheduler, directory string) (lines []string, err error)
}

// CompareSchedulers plays those scenarios whose name contains only, first with kube-scheduler and then with berth, and prints
// whether the outcomes are equal. An error of one ends it; a difference does not.
func (c *Common) CompareSchedulers(ctx context.Context, only, directory string, scenarios []Compared) error {
	chosen := slices.DeleteFunc(slices.Clone(scenarios), func(one Compared) bool { return !strings.Contains(one.Name, only) })
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario is called %q", only)
	}
	reference, err := playAll(ctx, chosen, Scheduler{"kube-scheduler", []string{c.Real, "kube-scheduler"}}, directory)
	if err != nil {
		return err
	}
	// A port of its own: another program may use the default one.
	berth, err := playAll(ctx, chosen, Scheduler{"berth", []string{c.Berth, "scheduler", "--berth-http-address=127.0.0.1:0"}}, directory)
	if err != nil {
		return err
	}
	different := 0
	for i, one := range chosen {
		expected, found := strings.Join(reference[i], "; "), strings.Join(berth[i], "; ")
		if slices.Equal(reference[i], berth[i]) {
			fmt.Printf("%s: alike: %s\n", one.Name, expected)
			continue
		}
		different++
		fmt.Printf("%s: DIFFERENT\n    kube-scheduler | %s\n    berth          | %s\n", one.Name, expected, found)
	}
	if different > 0 {
		return fmt.Errorf("%d of %d scenarios differ", different, len(chosen))
	}
	fmt.Printf("all %d scenarios alike\n", len(chosen))
	return nil
}

func playAll(ctx context.Context, scenarios []Compared, scheduler Scheduler, directory string) (outcomes [][]string, err error) {
	for i, one := range scenarios {
		lines, err := one.Play(ctx, scheduler, filepath.Join(directory, fmt.Sprintf("%s-%d", scheduler.Name, i+1)))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", scheduler.Name, one.Name, err)
		}
		outcomes = append(outcomes, lines)
	}
	return outcomes, nil
}
