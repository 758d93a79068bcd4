package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type gaugeMetric = componentmetrics.GaugeMetric

var nodeNames = []string{"n1", "n2", "n3"}

// changes returns the differences from the previous visible state.
func (w *environment) changes() (set map[string]string, gone []string) {
	seen := w.look()
	set = make(map[string]string)
	for key, value := range seen {
		if w.state[key] != value {
			set[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.state)) {
		if _, still := seen[key]; !still {
			gone = append(gone, key)
		}
	}
	w.state = seen
	return set, gone
}

// look reads the visible state: one line per pod, nomination and metric. Zero and empty values are omitted.
// left out.
func (w *environment) look() map[string]string {
	seen := make(map[string]string)
	w.infos = make(map[string]*framework.QueuedPodInfo)
	for place, pods := range map[string][]*v1.Pod{
		"active": w.queue.PodsInActiveQ(), "backoff": w.queue.PodsInBackoffQ(), "unschedulable": w.queue.UnschedulablePods(),
		"incomplete": w.queue.IncompletePodGroupPodsPods(),
	} {
		for _, pod := range pods {
			info, known := w.queue.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
			if !known || info.Pod.UID != pod.UID {
				panic("a pod that is listed is not there: " + pod.Name)
			}
			w.infos[string(pod.UID)] = info
			if pod.Spec.SchedulingGroup != nil && place != "incomplete" {
				seen["pod "+string(pod.UID)] = line("member", info)
			} else {
				seen["pod "+string(pod.UID)] = line(place, info)
			}
		}
		w.lookAtGroups(seen, place, pods)
	}
	for uid, info := range w.held {
		seen["held "+uid] = line("held", info)
		if w.infos[uid] == nil {
			w.infos[uid] = info
		}
	}
	var inFlight []string
	for _, pod := range w.queue.InFlightPods() {
		inFlight = append(inFlight, string(pod.UID))
	}
	slices.Sort(inFlight)
	put(seen, "inflight", strings.Join(inFlight, " "))
	for _, node := range nodeNames {
		var nominated []string
		for _, info := range w.queue.NominatedPodsForNode(node) {
			nominated = append(nominated, string(info.GetPod().UID))
		}
		slices.Sort(nominated)
		put(seen, "nominated "+node, strings.Join(nominated, " "))
	}
	w.lookAtMetrics(seen)
	return seen
}

// lookAtGroups adds the groups of these pods, which are in one place.
func (w *environment) lookAtGroups(seen map[string]string, place string, pods []*v1.Pod) {
	for _, pod := range pods {
		if pod.Spec.SchedulingGroup == nil || place == "incomplete" {
			continue
		}
		name := *pod.Spec.SchedulingGroup.PodGroupName
		group, known := w.entryOf(name)
		if !known {
			panic("the group of a queued pod is not there: " + name)
		}
		if group.Gated() {
			place = "gated"
		}
		text := fmt.Sprintf("%s attempts=%d unschedulable=%d errors=%d since=%d", place, group.Attempts,
			group.UnschedulableCount, group.ConsecutiveErrorsCount, group.Timestamp.UnixMilli())
		if place == "backoff" {
			text += fmt.Sprintf(" expiry=%d", group.BackoffExpiration.UnixMilli())
		}
		if group.InitialAttemptTimestamp != nil {
			text += fmt.Sprintf(" first=%d", group.InitialAttemptTimestamp.UnixMilli())
		}
		if group.WasFlushedFromUnschedulable {
			text += " after-flush"
		}
		if group.GatingPlugin != "" {
			text += " gate=" + group.GatingPlugin
		}
		text += fmt.Sprintf(" priority=%d members=", group.GetPriority())
		for _, info := range members(group) {
			text += string(info.Pod.UID) + " "
		}
		seen["group "+group.GetName()] = text
	}
}

func put(seen map[string]string, key, value string) {
	if value != "" {
		seen[key] = value
	}
}

// line is the complete state of one pod.
func line(place string, info *framework.QueuedPodInfo) string {
	if place == "unschedulable" && info.Gated() {
		place = "gated"
	}
	text := fmt.Sprintf("%s attempts=%d unschedulable=%d errors=%d since=%d", place, info.Attempts,
		info.UnschedulableCount, info.ConsecutiveErrorsCount, info.Timestamp.UnixMilli())
	if place == "backoff" {
		text += fmt.Sprintf(" expiry=%d", info.BackoffExpiration.UnixMilli())
	}
	if info.InitialAttemptTimestamp != nil {
		text += fmt.Sprintf(" first=%d", info.InitialAttemptTimestamp.UnixMilli())
	}
	if !info.FlushTimestamp.IsZero() {
		text += fmt.Sprintf(" flushed=%d", info.FlushTimestamp.UnixMilli())
	}
	if info.WasFlushedFromUnschedulable {
		text += " after-flush"
	}
	rejectors := slices.Sorted(maps.Keys(info.UnschedulablePlugins.Union(info.PendingPlugins)))
	if len(rejectors) > 0 {
		text += " rejectors=" + strings.Join(rejectors, ",")
	}
	if info.PendingPlugins.Len() > 0 {
		text += " pending=" + strings.Join(slices.Sorted(maps.Keys(info.PendingPlugins)), ",")
	}
	if info.GatingPlugin != "" {
		text += " gate=" + info.GatingPlugin
	}
	return text + fmt.Sprintf(" labels=%s%s nominated=%s", info.Pod.Labels["l"], info.Pod.Labels["hold"], info.Pod.Status.NominatedNodeName)
}

// newRecorder creates a recorder that forwards in-flight events on request, without a timer.
func newRecorder() *metrics.MetricAsyncRecorder {
	stopped := make(chan struct{})
	close(stopped)
	recorder := metrics.NewMetricsAsyncRecorder(256, -time.Second, stopped)
	<-recorder.IsStoppedCh
	return recorder
}

func pendingMetrics() map[string]gaugeMetric {
	return map[string]gaugeMetric{
		"active": metrics.ActivePods(), "backoff": metrics.BackoffPods(),
		"unschedulable": metrics.UnschedulablePods(), "gated": metrics.GatedPods(),
		"incomplete": metrics.IncompletePodGroupPods(), "pending": metrics.PendingPodGroupPods(),
	}
}

// resetMetrics sets the metrics to zero: they belong to the process, not to a queue.
func (w *environment) resetMetrics() {
	for _, gauge := range pendingMetrics() {
		gauge.Set(0)
	}
	w.rejectedMetric = make(map[[2]string]gaugeMetric)
	for _, p := range w.plugins {
		for _, profile := range profiles {
			gauge := metrics.UnschedulableReason(p.Name, profile)
			gauge.Set(0)
			w.rejectedMetric[[2]string{p.Name, profile}] = gauge
		}
	}
	metrics.InFlightEvents.Reset()
	metrics.SchedulerQueueIncomingPods.Reset()
	metrics.SchedulerQueueIncomingEntities.Reset()
}

func (w *environment) lookAtMetrics(seen map[string]string) {
	for place, gauge := range pendingMetrics() {
		putNumber(seen, "pending "+place, read(gauge.(prometheus.Metric)))
	}
	for of, gauge := range w.rejectedMetric {
		putNumber(seen, "rejected "+of[0]+" "+of[1], read(gauge.(prometheus.Metric)))
	}
	each(metrics.InFlightEvents.GaugeVec, func(labels map[string]string, value float64) {
		putNumber(seen, "events "+labels["event"], value)
	})
	each(metrics.SchedulerQueueIncomingPods.CounterVec, func(labels map[string]string, value float64) {
		putNumber(seen, "incoming "+labels["queue"]+" "+labels["event"], value)
	})
	each(metrics.SchedulerQueueIncomingEntities.CounterVec, func(labels map[string]string, value float64) {
		putNumber(seen, "entities "+labels["queue"]+" "+labels["event"]+" "+labels["type"], value)
	})
}

func putNumber(seen map[string]string, key string, value float64) {
	if value != 0 {
		seen[key] = fmt.Sprint(value)
	}
}

func read(metric prometheus.Metric) float64 {
	var out dto.Metric
	if err := metric.Write(&out); err != nil {
		panic(err)
	}
	return out.GetGauge().GetValue() + out.GetCounter().GetValue()
}

func each(vector prometheus.Collector, visit func(labels map[string]string, value float64)) {
	found := make(chan prometheus.Metric, 1024)
	vector.Collect(found)
	close(found)
	for metric := range found {
		var out dto.Metric
		if err := metric.Write(&out); err != nil {
			panic(err)
		}
		labels := make(map[string]string)
		for _, pair := range out.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		visit(labels, out.GetGauge().GetValue()+out.GetCounter().GetValue())
	}
}
