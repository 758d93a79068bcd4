package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// eventsByPod lists the events of all pods.
func eventsByPod(ctx context.Context, client kubernetes.Interface) (map[string][]eventsv1.Event, error) {
	list, err := client.EventsV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	events := make(map[string][]eventsv1.Event)
	for _, event := range list.Items {
		events[event.Regarding.Name] = append(events[event.Regarding.Name], event)
	}
	return events, nil
}

// waitForEvents waits for the event of every pod and returns missing or wrong ones. Events are written after
// the bindings, possibly with a delay.
func waitForEvents(ctx context.Context, client kubernetes.Interface, w *workload, scheduler *controlplane.Child) ([]string, error) {
	deadline := time.Now().Add(time.Minute)
	for {
		events, err := eventsByPod(ctx, client)
		if err != nil {
			return nil, err
		}
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		violations := missingEvents(w, events, pods.Items)
		if len(violations) == 0 || time.Now().After(deadline) {
			return violations, nil
		}
		if !scheduler.Running() {
			return nil, scheduler.Gone()
		}
		if err := controlplane.Pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func missingEvents(w *workload, events map[string][]eventsv1.Event, pods []v1.Pod) (violations []string) {
	current := make(map[string]*v1.Pod)
	for i := range pods {
		current[pods[i].Name] = &pods[i]
	}
	for _, pod := range w.fitting {
		i := slices.IndexFunc(events[pod.Name], func(e eventsv1.Event) bool { return e.Reason == "Scheduled" })
		if i < 0 {
			violations = append(violations, fmt.Sprintf("pod %s has no event Scheduled", pod.Name))
			continue
		}
		now := current[pod.Name]
		if now == nil {
			continue
		}
		event := events[pod.Name][i]
		got := fmt.Sprintf("%s %s by %s on %s %s: %s", event.Type, event.Action, event.ReportingController, event.Regarding.Kind, event.Regarding.UID, event.Note)
		want := fmt.Sprintf("Normal Binding by %s on Pod %s: Successfully assigned %s/%s to %s", now.Spec.SchedulerName, now.UID, now.Namespace, now.Name, now.Spec.NodeName)
		if got != want {
			violations = append(violations, fmt.Sprintf("pod %s: event %q, not %q", pod.Name, got, want))
		}
	}
	for _, pod := range w.refused {
		if !slices.ContainsFunc(events[pod.Name], func(e eventsv1.Event) bool { return e.Reason == "FailedScheduling" }) {
			violations = append(violations, fmt.Sprintf("pod %s has no event FailedScheduling", pod.Name))
		}
	}
	return violations
}

// refusal is the condition and the events of an unschedulable pod.
type refusal struct {
	condition string
	events    []string
}

// compareRefusals lists the differences between the scheduler under test and the reference.
func compareRefusals(ctx context.Context, client kubernetes.Interface, w *workload) ([]string, error) {
	deadline := time.Now().Add(time.Minute)
	for {
		events, err := eventsByPod(ctx, client)
		if err != nil {
			return nil, err
		}
		var violations []string
		for i := range w.refused {
			got, err := readRefusal(ctx, client, w.refused[i], events)
			if err != nil {
				return nil, err
			}
			want, err := readRefusal(ctx, client, w.twins[i], events)
			if err != nil {
				return nil, err
			}
			if got.condition != want.condition {
				violations = append(violations, fmt.Sprintf("pod %s:\n  condition      %s\n  kube-scheduler %s", w.refused[i].Name, got.condition, want.condition))
			}
			if !slices.Equal(got.events, want.events) {
				violations = append(violations, fmt.Sprintf("pod %s:\n  events         %q\n  kube-scheduler %q", w.refused[i].Name, got.events, want.events))
			}
		}
		// The reference's events may still be in progress.
		if len(violations) == 0 || time.Now().After(deadline) {
			return violations, nil
		}
		if err := controlplane.Pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func readRefusal(ctx context.Context, client kubernetes.Interface, pod *v1.Pod, events map[string][]eventsv1.Event) (*refusal, error) {
	current, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	r := new(refusal)
	for _, c := range current.Status.Conditions {
		if c.Type == v1.PodScheduled {
			r.condition = fmt.Sprintf("%s %s generation %d: %s", c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	for _, e := range events[pod.Name] {
		// Only the name of the profile may differ.
		reporter := "another component"
		if e.ReportingController == current.Spec.SchedulerName {
			reporter = "its scheduler"
		}
		r.events = append(r.events, fmt.Sprintf("%s %s %s from %s: %s", e.Type, e.Reason, e.Action, reporter, e.Note))
	}
	slices.Sort(r.events)
	// The number of repetitions depends on other changes.
	r.events = slices.Compact(r.events)
	return r, nil
}
