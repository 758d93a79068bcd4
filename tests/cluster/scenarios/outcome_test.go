package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func of(lines ...string) *outcome {
	return &outcome{lines: lines, requests: map[string]int{"events": 1}}
}

func TestCompare(t *testing.T) {
	more := of("a")
	more.requests["events"] = 2
	failed := of("a")
	failed.err = errors.New("in vain")
	differing := &scenario{differs: &difference{why: "on purpose", onlyReference: []string{"pod x: event"}, onlyBerth: []string{"pod x: bound"}}}
	for _, test := range []struct {
		name             string
		scenario         *scenario
		reference, berth *outcome
		want             []string // prefixes of the expected differences
	}{
		{"the same outcome is no difference", &scenario{}, of("a", "b"), of("a", "b"), nil},
		{"a line that berth lacks is told", &scenario{}, of("a", "b"), of("a"), []string{"only kube-scheduler: b"}},
		{"a line that only berth has is told", &scenario{}, of("a"), of("a", "b"), []string{"only berth:          b"}},
		{"the same lines in another order are told", &scenario{}, of("a", "b"), of("b", "a"), []string{"another order"}},
		{"more requests are told", &scenario{}, of("a"), more, []string{"berth sends 2 events"}},
		{"more requests count for nothing where their number varies", &scenario{uncounted: true}, of("a"), more, nil},
		{"fewer requests are welcome", &scenario{}, more, of("a"), nil},
		{"another node is told", &scenario{}, of("pod x: bound to n-1"), of("pod x: bound to n-2"), []string{"only kube", "only berth"}},
		{"another node counts for nothing where several are as good", &scenario{anyNode: true}, of("pod x: bound to n-1"), of("pod x: bound to n-2"), nil},
		{"an unbound pod counts also there", &scenario{anyNode: true}, of("pod x: bound to n-1"), of("pod x: not bound"), []string{"only kube", "only berth"}},
		{"a scenario that berth does not get through is told", &scenario{}, of("a"), failed, []string{"berth: in vain"}},
		{"a scenario that kube-scheduler does not get through is told", &scenario{}, failed, of("a"), []string{"kube-scheduler: in vain"}},
		{"what is meant to differ may", differing, of("a", "pod x: event E"), of("a", "pod x: bound to n-1"), nil},
		{"what is meant to differ must", differing, of("a", "pod x: event E"), of("a"), []string{"not found any more: only berth"}},
		{"what is not meant to differ may not there either", differing, of("a", "pod x: event E"), of("b", "pod x: bound to n-1"), []string{"only kube-scheduler: a", "only berth:          b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.scenario.compare(test.reference, test.berth)
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}

func TestKindOfRequest(t *testing.T) {
	for _, test := range []struct{ method, rest, want string }{
		{"POST", "pods/x/binding", "bindings"},
		{"PATCH", "pods/x/status", "status patches"},
		{"POST", "events", "events"},
		{"PATCH", "events/x.17", "event patches"},
		{"DELETE", "pods/x", "DELETE pods/x"},
		{"PUT", "persistentvolumeclaims/x", "changes of claims"},
		{"PATCH", "persistentvolumeclaims/x", "changes of claims"},
	} {
		if got := kindOf(test.method, test.rest); got != test.want {
			t.Errorf("%s %s is %q, not %q", test.method, test.rest, got, test.want)
		}
	}
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, sc := range allScenarios() {
		if seen[sc.name] {
			t.Errorf("two scenarios are called %q", sc.name)
		}
		seen[sc.name] = true
	}
}
