package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outcome is the result of a scenario, as text that does not vary between runs.
type outcome struct {
	err      error
	seconds  float64
	lines    []string
	requests map[string]int
}

func (s *stage) collect(sc *scenario, o *outcome) {
	list, err := s.client.EventsV1().Events(s.ns).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	s.mutex.Lock()
	defer s.mutex.Unlock()
	neutral := []string{s.ns, "NAMESPACE"}
	for _, history := range s.pods {
		neutral = append(neutral, string(history.uid), "UID-OF-"+history.label)
	}
	for _, history := range s.claims {
		neutral = append(neutral, string(history.uid), "UID-OF-"+history.label)
		if history.label != history.name {
			neutral = append(neutral, history.name, history.label)
		}
	}
	for uid, name := range s.groups {
		neutral = append(neutral, string(uid), "UID-OF-"+name)
	}
	words := strings.NewReplacer(neutral...)
	say := func(format string, args ...any) {
		o.lines = append(o.lines, words.Replace(fmt.Sprintf(format, args...)))
	}
	// The order of creation of several pods varies between runs.
	scenarios := slices.SortedFunc(slices.Values(s.pods), func(a, b *podHistory) int { return strings.Compare(a.label, b.label) })
	for _, history := range scenarios {
		place := "not bound"
		if history.node != "" {
			place = "bound to " + history.node
		}
		say("pod %s: %s", history.label, place)
		for _, condition := range history.conditions {
			say("pod %s: condition %s", history.label, condition)
		}
		for _, disruption := range history.disruptions {
			say("pod %s: to be disrupted: %s", history.label, disruption)
		}
		if history.gone {
			say("pod %s: gone", history.label)
		}
		if len(history.nominations) > 0 && !sc.anyNomination {
			say("pod %s: nominated %s", history.label, strings.Join(history.nominations, ", then "))
		}
		var events []string
		for _, e := range list.Items {
			if e.Regarding.UID != history.uid || !slices.Contains(profiles, e.ReportingController) {
				continue
			}
			// The number of repetitions varies with timing; the text does not.
			event := fmt.Sprintf("%s %s %s from %s: %s", e.Type, e.Reason, e.Action, e.ReportingController, e.Note)
			// kube-scheduler v1.37.1 loses the reference to a preempting pod (docs/differences.md).
			if e.Related != nil && e.Related.Kind != "Pod" {
				event += fmt.Sprintf(" (related: %s %s %s)", e.Related.APIVersion, e.Related.Kind, e.Related.Name)
			}
			if !slices.Contains(events, event) {
				events = append(events, event)
				say("pod %s: event %s", history.label, event)
			}
		}
	}
	claims := slices.SortedFunc(slices.Values(s.claims), func(a, b *claimHistory) int { return strings.Compare(a.label, b.label) })
	for _, history := range claims {
		if history.onlyControllersWrote() {
			continue
		}
		states := history.states
		if sc.finalClaims {
			states = states[max(0, len(states)-1):]
		}
		for _, state := range states {
			say("claim %s: %s", history.label, state)
		}
		if history.gone {
			say("claim %s: gone", history.label)
		}
	}
	for _, line := range s.lines {
		say("%s", line)
	}
	o.requests = s.lane.proxy.written(s.ns)
}

// compare lists the differences of berth's outcome, and writes that it sent more often.
func (sc *scenario) compare(reference, berth *outcome) (differences []string) {
	if reference.err != nil {
		differences = append(differences, "kube-scheduler: "+reference.err.Error())
	}
	if berth.err != nil {
		differences = append(differences, "berth: "+berth.err.Error())
	}
	lines := lineDifferences(sc.relevant(reference), sc.relevant(berth))
	if sc.differs != nil {
		lines = sc.differs.evaluate(lines)
	}
	differences = append(differences, lines...)
	if reference.err != nil || berth.err != nil || sc.uncounted {
		return differences
	}
	for _, kind := range slices.Sorted(maps.Keys(berth.requests)) {
		if berth.requests[kind] > reference.requests[kind] {
			differences = append(differences, fmt.Sprintf("berth sends %d %s, kube-scheduler %d", berth.requests[kind], kind, reference.requests[kind]))
		}
	}
	return differences
}

// relevant are the lines of an outcome that must be equal.
func (sc *scenario) relevant(o *outcome) (lines []string) {
	for _, line := range o.lines {
		if sc.anyNode {
			line = withoutNode(line)
		}
		lines = append(lines, line)
	}
	if sc.decisionsOnly {
		return withoutTexts(lines)
	}
	return lines
}

func withoutNode(line string) string {
	for _, words := range []string{": bound to ", ": Successfully assigned "} {
		if before, _, found := strings.Cut(line, words); found {
			return before + words + "one of them"
		}
	}
	return line
}

const (
	onlyReference = "only kube-scheduler: "
	onlyBerth     = "only berth:          "
)

// evaluate removes the expected differences, and reports those that are missing.
func (d *difference) evaluate(lines []string) (remaining []string) {
	var meant []string
	for _, beginning := range d.onlyReference {
		meant = append(meant, onlyReference+beginning)
	}
	for _, beginning := range d.onlyBerth {
		meant = append(meant, onlyBerth+beginning)
	}
	found := make([]bool, len(meant))
	for _, line := range lines {
		i := slices.IndexFunc(meant, func(beginning string) bool { return strings.HasPrefix(line, beginning) })
		if i < 0 {
			remaining = append(remaining, line)
		} else {
			found[i] = true
		}
	}
	for i, beginning := range meant {
		if !found[i] {
			remaining = append(remaining, "not found any more: "+beginning)
		}
	}
	return remaining
}

// lineDifferences marks lines that only one outcome has; if both have the same lines, their order is
// compared.
func lineDifferences(reference, berth []string) (differences []string) {
	for _, line := range reference {
		if !slices.Contains(berth, line) {
			differences = append(differences, onlyReference+line)
		}
	}
	for _, line := range berth {
		if !slices.Contains(reference, line) {
			differences = append(differences, onlyBerth+line)
		}
	}
	if len(differences) == 0 && !slices.Equal(reference, berth) {
		differences = append(differences, fmt.Sprintf("another order:\n  kube-scheduler %q\n  berth          %q", reference, berth))
	}
	return differences
}

// requestLine is the number of writes of both, kube-scheduler first.
func requestLine(reference, berth map[string]int) string {
	kinds := make(map[string]int)
	maps.Copy(kinds, reference)
	maps.Copy(kinds, berth)
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%s %d/%d", kind, reference[kind], berth[kind]))
	}
	return strings.Join(parts, ", ")
}
