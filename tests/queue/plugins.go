package main

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// hash is FNV-1a of 32 bits; queue_replay has the same.
func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// describe names an object. For pods it includes the label "l", so that an update may change the result of a hint.
func describe(obj any) string {
	switch o := obj.(type) {
	case *v1.Pod:
		return o.Name + "@" + o.Labels["l"]
	case metav1.Object:
		return o.GetName()
	}
	return "-"
}

// hint is the result of a plugin's queueing hint; one in ten is an error.
func hint(plugin string, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
	switch hash(plugin+"/"+describe(pod)+"/"+describe(before)+"/"+describe(after)) % 10 {
	case 0:
		return fwk.QueueSkip, errors.New("hint failed")
	case 1, 2, 3, 4, 5:
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// gates returns the PreEnqueue plugins that would gate the pod: "Gates" while it has scheduling gates, "Hold" until the
// time in its label "hold", "Mood" depending on its label "l".
func gates(pod *v1.Pod, now int64) []string {
	var closed []string
	if len(pod.Spec.SchedulingGates) > 0 {
		closed = append(closed, "Gates")
	}
	if until, err := strconv.ParseInt(pod.Labels["hold"], 10, 64); err == nil && now < until {
		closed = append(closed, "Hold")
	}
	if l := pod.Labels["l"]; l != "" && hash("Mood/"+pod.Name+"/"+l)%5 == 0 {
		closed = append(closed, "Mood")
	}
	return closed
}

// gate is one PreEnqueue plugin. The original calls the plugin that gated the pod first and the others in the random
// order of a map. If several would reject, only the first by name does, so that the result is deterministic.
type gate struct {
	name        string
	environment *environment
}

func (g *gate) Name() string { return g.name }

func (g *gate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	closed := slices.DeleteFunc(gates(pod, g.environment.now()), func(name string) bool {
		return !g.environment.enabled(name, pod.Spec.SchedulerName)
	})
	if len(closed) == 0 {
		return nil
	}
	first := slices.Min(closed)
	if info := g.environment.infos[string(pod.UID)]; info != nil && slices.Contains(closed, info.GatingPlugin) {
		first = info.GatingPlugin
	}
	switch {
	case g.name != first:
		return nil
	case hash("error/"+pod.Name+"/"+pod.Labels["l"])%4 == 0:
		return fwk.NewStatus(fwk.Error, "broken")
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "held back")
}

func (w *environment) preEnqueue(plugins []plugin) map[string]map[string]fwk.PreEnqueuePlugin {
	all := make(map[string]map[string]fwk.PreEnqueuePlugin)
	for _, profile := range profiles {
		all[profile] = make(map[string]fwk.PreEnqueuePlugin)
		for _, p := range plugins {
			if p.PreEnqueue && w.enabled(p.Name, profile) {
				all[profile][p.Name] = &gate{p.Name, w}
			}
		}
	}
	return all
}

func (w *environment) enabled(name, profile string) bool {
	return slices.ContainsFunc(w.plugins, func(p plugin) bool { return p.Name == name && slices.Contains(p.Profiles, profile) })
}

func hintMap(plugins []plugin) queue.QueueingHintMapPerProfile {
	all := make(queue.QueueingHintMapPerProfile)
	for _, profile := range profiles {
		all[profile] = make(queue.QueueingHintMap)
		for _, p := range plugins {
			if !slices.Contains(p.Profiles, profile) {
				continue
			}
			for _, r := range p.Events {
				hintFunction := func(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
					if !r.Hint {
						return fwk.Queue, nil
					}
					return hint(p.Name, pod, before, after)
				}
				key := fwk.ClusterEvent{Resource: fwk.EventResource(r.Resource), ActionType: fwk.ActionType(r.Action)}
				all[profile][key] = append(all[profile][key],
					&queue.QueueingHintFunction{PluginName: p.Name, QueueingHintFn: hintFunction})
			}
		}
	}
	return all
}
