package controlplane

import (
	"context"
	"fmt"
	"time"
)

// Pause waits, but not longer than the run's context.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Until waits for a condition to become true.
func Until(ctx context.Context, timeout time.Duration, what string, happened func() (bool, error)) error {
	deadline := time.Now().Add(timeout)
	for {
		done, err := happened()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s", timeout, what)
		}
		if err := Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
