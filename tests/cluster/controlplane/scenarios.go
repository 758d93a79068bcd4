package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Scenario is one of several independent scenarios of a program. An error does not end the others.
type Scenario struct {
	Name string
	Play func(ctx context.Context) (wrong []string)
}

// Errors collects what is wrong in a scenario. Safe for concurrent use.
type Errors struct {
	mutex sync.Mutex
	found []string
}

// AddError adds an error that does not end the scenario.
func (e *Errors) AddError(format string, args ...any) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.found = append(e.found, fmt.Sprintf(format, args...))
}

// TakeErrors returns the errors of a finished scenario and clears them. err is the last one, unless it is nil.
func (e *Errors) TakeErrors(err error) []string {
	if err != nil {
		e.AddError("%v", err)
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	found := e.found
	e.found = nil
	return found
}

// PlayScenarios runs the scenario named only, or all of them, and prints the duration and error of each.
func PlayScenarios(ctx context.Context, only string, scenarios []Scenario) error {
	var names []string
	for _, one := range scenarios {
		names = append(names, one.Name)
	}
	if only != "" && !slices.Contains(names, only) {
		return fmt.Errorf("--only=%s: there are %s", only, strings.Join(names, ", "))
	}
	violations := 0
	for _, one := range scenarios {
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
