package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"berth.test/cluster/controlplane"
)

// The releases of Kubernetes: which scenarios they can play, and what is compared.
//
// With the release whose behaviour Berth follows the outcomes must be equal. With an older one Berth makes the same decisions,
// while that release's kube-scheduler may use other words. Then placements, the conditions' type, status and reason,
// nominations, the events' type, reason and action, claims and reported lines must be equal, and neither texts, numbers of
// requests nor the times of allocations. What an older kube-scheduler does differently is listed in earlierBehaviours.

// requirement is a part of Kubernetes that a release has by default from its minor version on.
type requirement struct {
	what  string
	since int
}

var (
	claimsV1         = requirement{"resource.k8s.io/v1", 34}
	deviceTaints     = requirement{"the feature gate DRADeviceTaints", 36}
	deviceTaintRules = requirement{"DeviceTaintRule in resource.k8s.io/v1", 37}
	devicePartitions = requirement{"the feature gate DRAPartitionableDevices", 36}
	sharedDevices    = requirement{"the feature gate DRAConsumableCapacity", 36}
	deviceConditions = requirement{"the feature gate DRADeviceBindingConditions", 36}
	resizeInPlace    = requirement{"the feature gate InPlacePodVerticalScaling", 33}
	foreignClaims    = requirement{"a claim controller that replaces a claim of another pod", 37}
	declaredFeatures = requirement{"the feature gate NodeDeclaredFeatures", 36}
	podGroups        = requirement{"scheduling.k8s.io/v1beta1", 37}
)

// nominationsSince is the first minor release with the feature gate NominatedNodeNameForExpectation.
const nominationsSince = 35

// needing adds a requirement to all scenarios.
func needing(what requirement, scenarios []*scenario) []*scenario {
	for _, sc := range scenarios {
		sc.needs = append(sc.needs, what)
	}
	return scenarios
}

// missing is what the release lacks for a scenario; empty: nothing.
func (sc *scenario) missing(release controlplane.Release) string {
	for _, requirement := range sc.needs {
		if release.Minor < requirement.since {
			return fmt.Sprintf("needs %s: since 1.%d", requirement.what, requirement.since)
		}
	}
	return ""
}

// withoutTexts are the lines of an outcome without messages, generations, times of allocations and repetitions.
func withoutTexts(lines []string) (short []string) {
	for _, line := range lines {
		line = withoutText(line)
		if strings.Contains(line, ": event ") && slices.Contains(short, line) {
			continue
		}
		short = appendNew(short, line)
	}
	return short
}

// allocationTime is the time of an allocation, as stateOf prints it. Before 1.36, kube-scheduler writes none by default.
const allocationTime = `,"allocationTimestamp":"1970-01-01T00:00:00Z"`

func withoutText(line string) string {
	for _, kind := range []string{": condition ", ": to be disrupted: "} {
		if strings.Contains(line, kind) {
			short, _, _ := strings.Cut(line, " of generation ")
			return short
		}
	}
	if strings.HasPrefix(line, "claim ") {
		return strings.Replace(line, allocationTime, "", 1)
	}
	// A line that a scenario reports.
	if short, _, found := strings.Cut(line, " is False "); found {
		return short + " is False"
	}
	if _, event, found := strings.Cut(line, ": event "); found {
		head := line[:len(line)-len(event)]
		short, _, _ := strings.Cut(event, ": ")
		return head + short
	}
	return line
}

// Verdicts about a scenario.
const (
	alike         = "alike"
	sameDecisions = "alike but for texts" // only with older releases
	asDocumented  = "as documented"       // only with older releases: earlierBehaviours
	different     = "different"
	notApplicable = "not applicable"
)

// result is the comparison of one scenario. It is written to --results.
type result struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	// Why it differs on purpose, or is not applicable.
	Why         string   `json:"why,omitempty"`
	Differences []string `json:"differences,omitempty"`
}

// results is the content of --results.
type results struct {
	Release   string   `json:"release"`
	Scenarios []result `json:"scenarios"`
}

func (r *results) write(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// leaveOut removes the scenarios that the release cannot play, and reports them.
func (r *results) leaveOut(out io.Writer, release controlplane.Release, scenarios []*scenario) (playable []*scenario) {
	for _, sc := range scenarios {
		why := sc.missing(release)
		if why == "" {
			playable = append(playable, sc)
			continue
		}
		fmt.Fprintf(out, "%s: not applicable: %s\n", sc.name, why)
		r.Scenarios = append(r.Scenarios, result{Name: sc.name, Verdict: notApplicable, Why: why})
	}
	return playable
}

// summary prints the numbers of results; scenarios that differ are an error.
func (r *results) summary(out io.Writer) error {
	count := make(map[string]int)
	for _, result := range r.Scenarios {
		count[result.Verdict]++
	}
	played := len(r.Scenarios) - count[notApplicable]
	if count[different] > 0 {
		var differing []string
		for _, result := range r.Scenarios {
			if result.Verdict == different {
				differing = append(differing, fmt.Sprintf("%s: %s", result.Name, strings.Join(result.Differences, "; ")))
			}
		}
		return fmt.Errorf("%d of %d scenarios differ\n%s", count[different], played, strings.Join(differing, "\n"))
	}
	if played == count[alike] && count[notApplicable] == 0 {
		fmt.Fprintf(out, "all %d scenarios alike\n", played)
		return nil
	}
	fmt.Fprintf(out, "%d scenarios with %s: %d alike, %d alike but for texts, %d as documented, %d not applicable\n", len(r.Scenarios),
		r.Release, count[alike], count[sameDecisions], count[asDocumented], count[notApplicable])
	return nil
}

// evaluate compares the outcomes by the rules of the release.
func (sc *scenario) evaluate(release controlplane.Release, reference, berth *outcome) result {
	r := result{Name: sc.name, Verdict: alike}
	if sc.differs != nil {
		r.Why = sc.differs.why
	}
	if r.Differences = sc.compare(reference, berth); len(r.Differences) == 0 {
		return r
	}
	if release.Pinned() {
		r.Verdict = different
		return r
	}
	older := *sc
	older.uncounted, older.decisionsOnly = true, true
	remaining := older.compare(reference, berth)
	if len(remaining) == 0 {
		r.Verdict = sameDecisions
		return r
	}
	r.Verdict, r.Differences = different, remaining
	if reasons := sc.earlier(release, reference, berth, remaining); len(reasons) > 0 {
		r.Verdict, r.Why = asDocumented, strings.Join(reasons, "; ")
	}
	return r
}

// earlier returns why an older kube-scheduler differs, if that explains every difference.
func (sc *scenario) earlier(release controlplane.Release, reference, berth *outcome, differences []string) (reasons []string) {
	if berth.err != nil {
		return nil
	}
	for _, difference := range differences {
		i := slices.IndexFunc(earlierBehaviours, func(known earlierBehaviour) bool {
			return release.Minor < known.before && known.concerns(sc) && known.explains(reference, difference)
		})
		if i < 0 {
			return nil
		}
		if why := earlierBehaviours[i].why; !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return reasons
}

func (e *earlierBehaviour) concerns(sc *scenario) bool {
	return len(e.scenarios) == 0 || slices.Contains(e.scenarios, sc.name)
}

// explains returns whether this is the reason of a difference. Of a scenario that kube-scheduler does not get through there are
// no lines to compare.
func (e *earlierBehaviour) explains(reference *outcome, difference string) bool {
	if reference.err != nil || len(e.lines) == 0 {
		return reference.err != nil && len(e.lines) == 0
	}
	line := strings.TrimPrefix(strings.TrimPrefix(difference, onlyReference), onlyBerth)
	return slices.ContainsFunc(e.lines, func(pattern *regexp.Regexp) bool { return pattern.MatchString(line) })
}

// earlierBehaviour is what the kube-schedulers of older releases do otherwise than that of the pinned release, and Berth.
type earlierBehaviour struct {
	scenarios []string // empty: all
	before    int      // minor releases before this one
	why       string
	// lines match the lines that only one of both has; empty: kube-scheduler does not get through the scenario, and its lines
	// are not compared.
	lines []*regexp.Regexp
}

func patterns(expressions ...string) (all []*regexp.Regexp) {
	for _, expression := range expressions {
		all = append(all, regexp.MustCompile(expression))
	}
	return all
}

// Those of single scenarios are before those of all. The feature gate is named where there is one; the others are changes of the
// code.
var earlierBehaviours = []earlierBehaviour{
	{before: 33, why: "without the feature gate SchedulerAsyncPreemption a pod is not retried after a refused eviction",
		scenarios: []string{"the API server rejects the victim's deletion, then accepts it"}},
	{before: 34, why: "a pod is not retried when a nomination ends that kept it out",
		scenarios: []string{"a nominated pod is deleted, and its resources are free", "a nomination is cleared, and its resources are free"}},
	{before: 32, why: "a waiting pod is not retried when a pod gets a label that ends an anti-affinity",
		scenarios: []string{"a pod changes the label of an anti-affinity term"}},
	{before: 32, why: "the message of a waiting pod does not change with a new node that is too small",
		scenarios: []string{"the message follows the cluster"}},
	{before: 34, why: "the message about a volume of another node has other words",
		scenarios: []string{"two pods get local volumes and their nodes"}},
	{before: 34, why: "there is no event about a pod with a very long name",
		scenarios: []string{"a name of 253 characters"}, lines: patterns(`^pod .*: event Normal Scheduled`)},
	{before: 36, why: "a pod is not retried when a pod ends, or its own label changes, that kept it out by its anti-affinity",
		scenarios: []string{"a pod with anti-affinity excludes others", "a pending pod changes its own label"}},
	{before: 36, why: "a claim of a pod that is not there yet is an error",
		scenarios: []string{"a claim is created later, and its volume after that"}, lines: patterns(`^pod early: condition False "SchedulerError"`)},
	{before: 36, why: "messages about incomplete and invalid pools of devices have other words",
		scenarios: []string{"a pod waits until its pool is complete", "a pool with two devices of one name"}},
	{before: 36, why: "an event about a deleted pod is written about its successor",
		scenarios: []string{"a pod is created again before its binding"}, lines: patterns(`^pod twice \(number 2\): event Warning FailedScheduling`)},
	{before: 37, why: "a nomination of a gated pod reserves nothing after a restart of the scheduler",
		scenarios: []string{"a nomination reserves resources after a restart"}},
	{before: 36, why: "a status that conflicts with another write is not written again",
		scenarios: []string{"a condition update fails and is retried immediately"}},
	{before: 37, why: "without the feature gate StorageCapacityScoring storage capacity does not determine the node",
		scenarios: []string{"the larger storage capacity determines the node"}, lines: patterns(`^pod roomy: (bound to|nominated) `, `^claim data is to be provisioned for `)},
	{before: 37, why: "a binding that fails is not sent again: the pod is scheduled again",
		scenarios: []string{"a binding fails and is retried immediately", "a binding fails four times"},
		lines:     patterns(`^pod retried: (condition False|event Warning FailedScheduling)`, `^attempts at retried: `)},
	{before: 37, why: "of two equal pods of a disruption budget the other one is evicted",
		scenarios: []string{"of two pods with a budget only one may be evicted"}, lines: patterns(`^pod guarded-`)},
	{before: 35, why: "the first alternative of a claim is not preferred when the node is chosen",
		scenarios: []string{"the better alternative determines the node"}, lines: patterns(`^pod choosy: bound to `, `^claim choice: `)},
	{before: 36, why: "a nomination is kept when the binding cycle fails",
		scenarios: []string{"a provisioner never answers", "a provisioner rejects a node", "a claim is deleted before its allocation is written"},
		lines:     patterns(`^pod [^:]*: nominated "n-1"`)},
	{before: 32, why: "without queueing hints (feature gate SchedulerQueueingHints) pods are retried after irrelevant changes, too",
		lines: patterns(`^attempts at `)},
	{before: nominationsSince, why: "without the feature gate NominatedNodeNameForExpectation pods that wait for volumes or devices are not nominated",
		lines: patterns(`^pod [^:]*: nominated `)},
}
