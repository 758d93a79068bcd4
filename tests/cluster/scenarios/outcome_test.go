package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"berth.test/cluster/controlplane"
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

func TestOlderReleases(t *testing.T) {
	older := controlplane.Release{Name: "v1.31.14", Minor: 31}
	failed := of()
	failed.err = errors.New("in vain")
	more := of("a")
	more.requests["events"] = 2
	named := func(name string) *scenario { return &scenario{name: name} }
	for _, test := range []struct {
		name             string
		scenario         *scenario
		reference, berth *outcome
		want             string
	}{
		{"the same outcome is alike", named("x"), of("a"), of("a"), alike},
		{"another message is another text", named("x"), of(`pod x: condition False "Unschedulable" of generation 0: one`),
			of(`pod x: condition False "Unschedulable" of generation 1: two`), sameDecisions},
		{"a message that changes counts once", named("x"),
			of(`pod x: condition False "Unschedulable" of generation 0: one`, `pod x: condition False "Unschedulable" of generation 0: two`),
			of(`pod x: condition False "Unschedulable" of generation 0: one`), sameDecisions},
		{"another reason is a difference", named("x"), of(`pod x: condition False "Unschedulable" of generation 0: one`),
			of(`pod x: condition False "SchedulerError" of generation 0: one`), different},
		{"another note of an event is another text", named("x"), of("pod x: event Normal Scheduled Binding from s: one"),
			of("pod x: event Normal Scheduled Binding from s: two"), sameDecisions},
		{"another event is a difference", named("x"), of("pod x: event Normal Scheduled Binding from s: one"),
			of("pod x: event Normal Preempted Binding from s: one"), different},
		{"another node is a difference", named("x"), of("pod x: bound to n-1"), of("pod x: bound to n-2"), different},
		{"the time of an allocation is another text", named("x"), of(`claim x: finalizers [], status {"allocation":{}}`),
			of(`claim x: finalizers [], status {"allocation":{},"allocationTimestamp":"1970-01-01T00:00:00Z"}`), sameDecisions},
		{"more requests are another text", named("x"), of("a"), more, sameDecisions},
		{"a nomination of berth only is documented", named("x"), of("a"), of("a", `pod x: nominated "n-1"`), asDocumented},
		{"a nomination and another node is a difference", named("x"), of("pod x: bound to n-1"), of("pod x: bound to n-2", `pod x: nominated "n-1"`), different},
		{"what kube-scheduler does not get through is a difference", named("x"), failed, of("a"), different},
		{"what an older kube-scheduler does not get through is documented", named("the message follows the cluster"), failed, of("a"), asDocumented},
		{"what berth does not get through is a difference", named("the message follows the cluster"), failed, failed, different},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.scenario.evaluate(older, test.reference, test.berth).Verdict; got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
	devices := &scenario{needs: []requirement{claimsV1}}
	for minor, want := range map[int]bool{33: false, 34: true} {
		if got := devices.missing(controlplane.Release{Minor: minor}) == ""; got != want {
			t.Errorf("1.%d plays a scenario with claims: %v", minor, got)
		}
	}
}

func TestEarlierBehavioursNameScenarios(t *testing.T) {
	for _, known := range earlierBehaviours {
		for _, name := range known.scenarios {
			if !slices.ContainsFunc(allScenarios(), func(sc *scenario) bool { return sc.name == name }) {
				t.Errorf("no scenario is called %q", name)
			}
		}
	}
}

func TestOnlyControllersWrote(t *testing.T) {
	const protected = "finalizers [resource.kubernetes.io/delete-protection], status {}"
	for _, test := range []struct {
		name  string
		claim claimHistory
		want  bool
	}{
		{"a second claim that no scheduler uses and that is gone", claimHistory{number: 2, gone: true, states: []string{untouched}}, true},
		{"the first claim of a pod", claimHistory{number: 1, gone: true, states: []string{untouched}}, false},
		{"one that is still there", claimHistory{number: 2, states: []string{untouched}}, false},
		{"one that a scheduler has written to", claimHistory{number: 2, gone: true, states: []string{untouched, protected, untouched}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.claim.onlyControllersWrote(); got != test.want {
				t.Errorf("%v, not %v", got, test.want)
			}
		})
	}
}
