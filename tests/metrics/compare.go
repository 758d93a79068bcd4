package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// exposition is the output of a scheduler without the address of its API server.
type exposition struct{ byName map[string]*dto.MetricFamily }

func parse(text string, config *rest.Config) (*exposition, error) {
	text = strings.ReplaceAll(text, `host="`+host(config)+`"`, `host="api"`)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return &exposition{families}, nil
}

func (e *exposition) families() int { return len(e.byName) }
func (e *exposition) series() int {
	count := 0
	for _, family := range e.byName {
		count += len(family.Metric)
	}
	return count
}

// Metrics of other components, which the test's executable contains, too. kube-scheduler's own executable lacks them.
var otherComponents = []*regexp.Regexp{
	regexp.MustCompile(`^node_collector_`), regexp.MustCompile(`^aggregator_`), regexp.MustCompile(`^apiserver_cel_`),
	regexp.MustCompile(`^apiserver_kube_aggregator_`), regexp.MustCompile(`^apiserver_validation_`),
}

func ofOtherComponent(name string) bool {
	return slices.ContainsFunc(otherComponents, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
}

// Metrics that every Kubernetes component has because its libraries register them. Berth does not have them.
var ofLibraries = []struct {
	families *regexp.Regexp
	zero     bool // all values are zero in a scheduler
	reason   string
}{
	{regexp.MustCompile(`^go_`), false, "there is no Go runtime"},
	{regexp.MustCompile(`^apiserver_(audit|envelope_encryption|storage|webhooks)_`), true, "only API servers audit, encrypt and call webhooks"},
}

// Metrics that berth does not have: families and single series.
var absent = map[string]string{
	"workqueue_adds_total":                        "the serving certificate is reloaded without a queue",
	"workqueue_depth":                             "the same",
	"workqueue_longest_running_processor_seconds": "the same",
	"workqueue_queue_duration_seconds":            "the same",
	"workqueue_retries_total":                     "the same",
	"workqueue_unfinished_work_seconds":           "the same",
	"workqueue_work_duration_seconds":             "the same",
	`scheduler_framework_extension_point_duration_seconds{extension_point="Sign",profile="default-scheduler",status="Success"}`: "pods have no signatures, because no result is reused by signature",
	`scheduler_plugin_evaluation_total{extension_point="PreFilter",plugin="NodeUnschedulable",profile="default-scheduler"}`:     "no work before the first nodes",
	`scheduler_plugin_evaluation_total{extension_point="PreFilter",plugin="TaintToleration",profile="default-scheduler"}`:       "the same",
}

// Families of which only names, types and label names are compared, and the reason.
var byChance = map[string]string{
	"scheduler_plugin_execution_duration_seconds":        "a random tenth of the attempts",
	"scheduler_queueing_hint_execution_duration_seconds": "hints are called for events during an attempt, or not",
	"scheduler_inflight_events":                          "the same",
	"scheduler_event_handling_duration_seconds":          "kinds of updates depend on what the kubelet and the scheduler wrote first",
	"scheduler_queue_incoming_pods_total":                "the same",
	"scheduler_queue_incoming_entities_total":            "the same",
	"scheduler_batch_cache_flushed_total":                "berth does not batch",
	"rest_client_requests_total":                         "which requests are retried",
	"rest_client_rate_limiter_duration_seconds":          "the same",
	"rest_client_request_duration_seconds":               "the same",
	"rest_client_request_size_bytes":                     "the same",
	"rest_client_response_size_bytes":                    "the same",
	"rest_client_transport_create_calls_total":           "a cache of Go",
	"kubernetes_build_info":                              "names the build",
	"registered_metrics_total":                           "counts other metrics",
	"authenticated_user_requests":                        "depends on earlier requests",
	"authentication_attempts":                            "the same",
	"authentication_duration_seconds":                    "the same",
	"authorization_attempts_total":                       "the same",
	"authorization_duration_seconds":                     "the same",
}

// Values that the workload determines.
var equal = []string{
	`scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}`,
	`scheduler_pending_pods{queue="active"}`,
	`scheduler_pending_pods{queue="gated"}`,
	`scheduler_queued_entities{queue="gated",type="pod"}`,
	`scheduler_preemption_attempts_total{}`,
	`scheduler_preemption_victims{}`,
	`scheduler_cache_size{type="nodes"}`,
	`scheduler_cache_size{type="assumed_pods"}`,
	`scheduler_pod_scheduling_attempts{}`,
	`scheduler_pod_scheduled_after_flush_total{}`,
	`scheduler_framework_extension_point_duration_seconds{extension_point="Bind",profile="default-scheduler",status="Success"}`,
	`scheduler_framework_extension_point_duration_seconds{extension_point="PostBind",profile="default-scheduler",status="Success"}`,
	`scheduler_unschedulable_pods{plugin="NodeAffinity",profile="default-scheduler"}`,
	`scheduler_unschedulable_pods{plugin="SchedulingGates",profile="default-scheduler"}`,
	`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"}`,
	`scheduler_dra_bindingconditions_allocations_total{driver="slow.example.com",profile="default-scheduler",status="success"}`,
	`scheduler_dra_bindingconditions_wait_duration_seconds{driver="slow.example.com",profile="default-scheduler",status="success"}`,
	`leader_election_master_status{name="kube-scheduler"}`,
	`version_info{binary="1.37.1",component="kube",emulation="1.37",min_compat="1.36"}`,
}

func compare(reference, candidate *exposition) []string {
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(reference.byName)) {
		if !ofOtherComponent(name) {
			differences = append(differences, compareFamily(reference.byName[name], candidate.byName[name])...)
		}
	}
	referenceValues, candidateValues := reference.values(), candidate.values()
	differences = append(differences, needlessExemptions(reference, candidate)...)
	for _, series := range equal {
		want, known := referenceValues[series]
		got, there := candidateValues[series]
		switch {
		case !known:
			differences = append(differences, series+": kube-scheduler does not have it")
		case !there:
			differences = append(differences, series+": missing")
		case want != got:
			differences = append(differences, fmt.Sprintf("%s: %v, kube-scheduler's is %v", series, got, want))
		}
	}
	return differences
}

// needlessExemptions returns the exemptions that no longer apply: kube-scheduler lacks the metric, or Berth has it.
func needlessExemptions(reference, candidate *exposition) []string {
	var needless []string
	inReference, inCandidate := reference.values(), candidate.values()
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		_, wantedFamily := reference.byName[name]
		_, wantedSeries := inReference[name]
		if !wantedFamily && !wantedSeries {
			needless = append(needless, name+": exempt, but kube-scheduler does not have it")
		}
		_, family := candidate.byName[name]
		_, series := inCandidate[name]
		if family || series {
			needless = append(needless, name+": exempt, but Berth has it")
		}
	}
	names := slices.Collect(maps.Keys(reference.byName))
	for _, name := range slices.Sorted(maps.Keys(byChance)) {
		if !slices.Contains(names, name) {
			needless = append(needless, name+": values are exempt, but kube-scheduler does not have it")
		}
	}
	patterns := slices.Clone(otherComponents)
	for _, libraries := range ofLibraries {
		patterns = append(patterns, libraries.families)
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(names, pattern.MatchString) {
			needless = append(needless, fmt.Sprintf("%v: exempt, but kube-scheduler does not have it", pattern))
		}
	}
	return needless
}

// compareWithoutFamily compares a family of kube-scheduler that Berth lacks.
func compareWithoutFamily(want *dto.MetricFamily) []string {
	name := want.GetName()
	if _, known := absent[name]; known {
		return nil
	}
	for _, libraries := range ofLibraries {
		if !libraries.families.MatchString(name) {
			continue
		}
		for series, value := range (&exposition{map[string]*dto.MetricFamily{name: want}}).values() {
			if libraries.zero && value != 0 {
				return []string{fmt.Sprintf("%s: missing; kube-scheduler's is %v, but %s", series, value, libraries.reason)}
			}
		}
		return nil
	}
	return []string{name + ": missing"}
}

func compareFamily(want, got *dto.MetricFamily) []string {
	name := want.GetName()
	if got == nil {
		return compareWithoutFamily(want)
	}
	var differences []string
	if want.GetType() != got.GetType() {
		differences = append(differences, fmt.Sprintf("%s: type %v, not %v", name, got.GetType(), want.GetType()))
	}
	if want.GetHelp() != got.GetHelp() {
		differences = append(differences, fmt.Sprintf("%s: help %q, not %q", name, got.GetHelp(), want.GetHelp()))
	}
	if a, b := labelNames(want), labelNames(got); !slices.Equal(a, b) {
		differences = append(differences, fmt.Sprintf("%s: labels %v, not %v", name, b, a))
	}
	if len(want.Metric) > 0 && len(got.Metric) > 0 {
		if a, b := bounds(want.Metric[0]), bounds(got.Metric[0]); !slices.Equal(a, b) {
			differences = append(differences, fmt.Sprintf("%s: buckets %v, not %v", name, b, a))
		}
	}
	if _, chance := byChance[name]; chance {
		return differences
	}
	there := map[string]bool{}
	for _, metric := range got.Metric {
		there[labels(metric)] = true
	}
	for _, metric := range want.Metric {
		key := labels(metric)
		if _, known := absent[name+key]; !there[key] && !known {
			differences = append(differences, name+key+": missing")
		}
	}
	return differences
}

func labels(metric *dto.Metric) string {
	var pairs []string
	for _, pair := range metric.Label {
		pairs = append(pairs, fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()))
	}
	sort.Strings(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

func labelNames(family *dto.MetricFamily) []string {
	names := map[string]bool{}
	for _, metric := range family.Metric {
		for _, pair := range metric.Label {
			names[pair.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func bounds(metric *dto.Metric) []float64 {
	var bounds []float64
	for _, bucket := range metric.GetHistogram().GetBucket() {
		bounds = append(bounds, bucket.GetUpperBound())
	}
	return bounds
}

// values returns counters, gauges and the counts of histograms.
func (e *exposition) values() map[string]float64 {
	values := map[string]float64{}
	for name, family := range e.byName {
		for _, metric := range family.Metric {
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			values[name+labels(metric)] = value
		}
	}
	return values
}
