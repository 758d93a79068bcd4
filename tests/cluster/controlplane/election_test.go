package controlplane

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provokes each violation once: otherwise a checker without findings would prove nothing.
func TestLeaseStateFindsViolations(t *testing.T) {
	started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lease := func(holder string, transitions, seconds int32, acquired time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(started.Add(acquired))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: &transitions,
			LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at}}
	}
	tests := []struct {
		name    string
		records []*coordinationv1.Lease
		want    string
	}{
		{"renewed and taken over", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("a", 0, 3, 0), lease("b", 1, 15, 4)}, ""},
		{"released and taken over", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("", 0, 1, 2), lease("b", 1, 3, 4)}, ""},
		{"no transitions", []*coordinationv1.Lease{{Spec: coordinationv1.LeaseSpec{HolderIdentity: new(string)}}}, "a field of the lease is missing"},
		{"the first one with transitions", []*coordinationv1.Lease{lease("a", 1, 3, 0)}, "the first holder's lease has 1 transitions"},
		{"taken over without a transition", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("b", 0, 3, 4)}, "taken over with 0 transitions after 0"},
		{"taken over with the old time", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("b", 1, 3, 0)}, "with the acquireTime of before"},
		{"renewed as if taken over", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("a", 1, 3, 0)}, "renewed with other transitions"},
		{"released with the old duration", []*coordinationv1.Lease{lease("a", 0, 3, 0), lease("", 0, 3, 2)}, "and a duration of 3"},
	}
	for _, test := range tests {
		var state LeaseState
		var found []string
		for _, record := range test.records {
			found = append(found, state.Lease(record)...)
		}
		if test.want == "" && len(found) > 0 || test.want != "" && !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.want) }) {
			t.Errorf("%s: %q, want %q", test.name, found, test.want)
		}
	}
}
