package controlplane

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Election contains the settings of a leader election.
type Election struct {
	Lease, Renew, Retry time.Duration
}

// QuickElection lets another leader take over three to four seconds after the end of one.
func QuickElection() Election {
	return Election{3 * time.Second, 2 * time.Second, 500 * time.Millisecond}
}

// Config is the field leaderElection of a KubeSchedulerConfiguration, with the name of the Lease in kube-system.
func (e Election) Config(resourceName string) string {
	return fmt.Sprintf(`leaderElection:
  leaderElect: true
  leaseDuration: %s
  renewDeadline: %s
  retryPeriod: %s
  resourceName: %s
`, e.Lease, e.Renew, e.Retry, resourceName)
}

const noElection = `leaderElection:
  leaderElect: false
`

// Lines in the log of a scheduler with leader election.
const (
	LogsLeading    = "Successfully acquired lease"
	LogsStandingBy = "Attempting to acquire leader lease"
	LogsLost       = "Leaderelection lost"
)

// Log is the output of the child so far.
func (c *Child) Log() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}

// UntilLogged waits until the child's log contains a text. It fails if the child ends.
func (c *Child) UntilLogged(ctx context.Context, text string) error {
	return Until(ctx, time.Minute, fmt.Sprintf("%q in the log of %s", text, c.Name), func() (bool, error) {
		if err := c.Alive(); err != nil {
			return false, err
		}
		return strings.Contains(c.Log(), text), nil
	})
}

// LeaseState is the record of a Lease at one time, for tests of the rules of client-go's leader election. The zero value
// is the state before the first record.
type LeaseState struct {
	seen bool
	last coordinationv1.LeaseSpec
}

// Holder is the identity of the leader, empty if there is none.
func (s *LeaseState) Holder() string {
	if !s.seen {
		return ""
	}
	return *s.last.HolderIdentity
}

// Duration is the time for which the record is valid after it was written.
func (s *LeaseState) Duration() time.Duration {
	if !s.seen {
		return 0
	}
	return time.Duration(*s.last.LeaseDurationSeconds) * time.Second
}

// Lease updates the state after a change of the Lease, and returns the violations. A record with missing fields does not
// change the state.
func (s *LeaseState) Lease(lease *coordinationv1.Lease) (violations []string) {
	addError := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	now, before, first := lease.Spec, s.last, !s.seen
	if now.HolderIdentity == nil || now.LeaseDurationSeconds == nil || now.LeaseTransitions == nil || now.RenewTime == nil || now.AcquireTime == nil {
		addError("a field of the lease is missing: %+v", now)
		return violations
	}
	s.seen, s.last = true, now
	changed := !first && *now.HolderIdentity != *before.HolderIdentity
	switch {
	case first && *now.LeaseTransitions != 0:
		addError("the first holder's lease has %d transitions", *now.LeaseTransitions)
	case changed && *now.HolderIdentity == "":
		if *now.LeaseTransitions != *before.LeaseTransitions || *now.LeaseDurationSeconds != 1 {
			addError("released with %d transitions (%d before) and a duration of %d", *now.LeaseTransitions, *before.LeaseTransitions, *now.LeaseDurationSeconds)
		}
	case changed:
		if *now.LeaseTransitions != *before.LeaseTransitions+1 {
			addError("taken over with %d transitions after %d", *now.LeaseTransitions, *before.LeaseTransitions)
		}
		if !now.AcquireTime.After(before.AcquireTime.Time) {
			addError("taken over with the acquireTime of before")
		}
	case !first && (*now.LeaseTransitions != *before.LeaseTransitions || !now.AcquireTime.Time.Equal(before.AcquireTime.Time)):
		addError("renewed with other transitions or another acquireTime")
	}
	return violations
}
