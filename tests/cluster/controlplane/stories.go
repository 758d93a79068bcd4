package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Story is one of several independent scenarios of a program. An error does not end the others.
type Story struct {
	Name string
	Play func(ctx context.Context) (wrong []string)
}

// PlayStories runs the scenario named only, or all of them, and prints the duration and error of each.
func PlayStories(ctx context.Context, only string, stories []Story) error {
	var names []string
	for _, one := range stories {
		names = append(names, one.Name)
	}
	if only != "" && !slices.Contains(names, only) {
		return fmt.Errorf("--only=%s: there are %s", only, strings.Join(names, ", "))
	}
	violations := 0
	for _, one := range stories {
		if only != "" && only != one.Name {
			continue
		}
		started := time.Now()
		wrong := one.Play(ctx)
		fmt.Printf("%-18s %.0f s\n", one.Name, time.Since(started).Seconds())
		for _, what := range wrong {
			fmt.Printf("VIOLATION: %s: %s\n", one.Name, what)
		}
		violations += len(wrong)
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	return nil
}
