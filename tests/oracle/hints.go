package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.test/objects"
)

// hintScenario is a cluster with rejected pods, a sequence of changes, and the queueing hints of the real plugins after
// each of them.
type hintScenario struct {
	Seed    uint64          `json:"seed"`
	Focus   string          `json:"focus"`
	Config  string          `json:"config"`
	Gates   string          `json:"gates,omitempty"`
	Cluster json.RawMessage `json:"cluster"`
	// Waiting are the keys of the rejected pods.
	Waiting []string     `json:"waiting"`
	Steps   []hintedStep `json:"steps"`
}

// hintedStep is a change with the events that follow from it.
type hintedStep struct {
	change
	Events []hintedEvent `json:"events"`
}

type hintedEvent struct {
	Label string `json:"label"`
	// Hints by plugin: one letter for each waiting pod. Plugins without a registration for the event are missing.
	//   -  the plugin is not registered, or is not in the profile of the pod
	//   S  skip
	//   Q  queue
	//   E  an error, which counts as queue
	//   s, q  skip or queue, where Berth may decide otherwise (docs/differences.md)
	Hints map[string]string `json:"hints"`
}

// The hints of DynamicResources are not compared: its objects, such as device classes, do not change in these sequences.
const uncompared = "DynamicResources"

var (
	hintScale = scale{maxNodes: 8, maxBound: 20, maxPending: 14}
	// changedKinds are the kinds of objects whose changes are events, pods and nodes more often than others.
	changedKinds = []string{
		"Node", "Node", "Node", "Pod", "Pod", "Pod", "Pod", "PersistentVolumeClaim", "PersistentVolumeClaim", "PersistentVolume",
		"PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment",
	}
	eventResources = map[string]fwk.EventResource{
		"PersistentVolume": fwk.PersistentVolume, "PersistentVolumeClaim": fwk.PersistentVolumeClaim, "StorageClass": fwk.StorageClass,
		"CSINode": fwk.CSINode, "CSIDriver": fwk.CSIDriver, "CSIStorageCapacity": fwk.CSIStorageCapacity,
		"VolumeAttachment": fwk.VolumeAttachment,
	}
)

const (
	hintSteps      = 60
	maxWaitingPods = 10
)

// generateHints draws a scenario and evaluates the hints.
func generateHints(ctx context.Context, seed uint64, focus string) (*hintScenario, error) {
	allowed, err := focusPlugins(focus)
	if err != nil {
		return nil, err
	}
	g := &generator{rng: newRNG(seed), plugins: allowed, focus: focus}
	g.character()
	config := g.config()
	for _, profile := range config["profiles"].(array) {
		// Without its Filter, a plugin cannot reject a pod, and its hints have no effect.
		if plugins, ok := profile.(object)["plugins"].(object); ok {
			delete(plugins, "filter")
			delete(plugins, "preFilter")
		}
	}
	gates := g.gates()
	if strings.Contains(gates, "StorageCapacityScoring") {
		withoutShapes(config)
	}
	text, err := toYAML(config)
	if err != nil {
		return nil, err
	}
	items := g.cluster(hintScale)
	for i := range 3 {
		items = append(items, g.node(g.nodeName(100+i, 103)))
	}
	for _, item := range items {
		unfinished(item.(object))
	}
	c := newChangingCluster(g, items, isPending)
	cluster, err := toJSON(object{"apiVersion": "v1", "kind": "List", "items": c.items()})
	if err != nil {
		return nil, err
	}
	s := &hintScenario{Seed: seed, Focus: focus, Config: string(text), Gates: gates, Cluster: cluster}
	for _, key := range c.keys["Pod"] {
		if o := c.objects["Pod"][key]; len(s.Waiting) < maxWaitingPods && isPending(o) && g.isRejectable(o) {
			s.Waiting = append(s.Waiting, key)
		}
	}
	// Some draws have no result, because the cluster has no object of the kind.
	for attempts := 0; len(s.Steps) < hintSteps && attempts < 4*hintSteps; attempts++ {
		if planned, ok := c.hintChange(s.Waiting); ok {
			s.Steps = append(s.Steps, hintedStep{change: planned})
		}
	}
	return s, s.evaluate(ctx)
}

func isPending(o object) bool {
	return kindOf(o) == "Pod" && o["spec"].(object)["nodeName"] == nil
}

// isRejectable returns whether a pod can be in the queue of one of the profiles.
func (g *generator) isRejectable(pod object) bool {
	name, ok := pod["spec"].(object)["schedulerName"].(string)
	if !ok {
		name = "default-scheduler"
	}
	phase, _ := pod["status"].(object)["phase"].(string)
	return slices.Contains(g.schedulers, name) && phase != "Succeeded" && phase != "Failed"
}

// hintChange draws a change of the cluster. The waiting pods are updated, but stay.
func (c *changingCluster) hintChange(waiting []string) (change, bool) {
	kind := pick(c.rng, changedKinds...)
	if c.chance(0.15) {
		return c.add(kind)
	}
	updated := c.chance(0.75)
	if kind == "Pod" {
		return c.podChange(waiting, updated)
	}
	key, ok := c.anyKey(kind, anything)
	if !ok {
		return c.add(kind)
	}
	if !updated {
		return c.delete(kind, key), true
	}
	return c.update(kind, key), true
}

// podChange updates a waiting pod, or updates, binds or deletes another one.
func (c *changingCluster) podChange(waiting []string, updated bool) (change, bool) {
	if len(waiting) > 0 && c.chance(0.3) {
		return c.update("Pod", pick(c.rng, waiting...)), true
	}
	key, ok := c.anyKey("Pod", func(o object) bool { return !slices.Contains(waiting, keyOf(o)) })
	if !ok {
		return c.add("Pod")
	}
	if !updated {
		return c.delete("Pod", key), true
	}
	pod := c.objects["Pod"][key]
	if !isPending(pod) {
		return c.update("Pod", key), true
	}
	bound := copied(pod).(object)
	bound["spec"].(object)["nodeName"] = c.someNodeName()
	c.put(bound)
	return changeTo(bound), true
}

// hintEvaluation are the objects and plugins of a scenario during its evaluation.
type hintEvaluation struct {
	cluster *Cluster
	factory informers.SharedInformerFactory
	// current are the objects by kind and key.
	current map[string]runtime.Object
	waiting []string
	// registered are the plugins' registrations by profile.
	registered map[string][]registeredPlugin
}

type registeredPlugin struct {
	name   string
	events []fwk.ClusterEventWithHint
}

// evaluate applies the steps and stores the hints in them.
func (s *hintScenario) evaluate(ctx context.Context) error {
	restore, err := setGates(s.Gates)
	if err != nil {
		return err
	}
	defer restore()
	e, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	defer e.cluster.close()
	for i := range s.Steps {
		if err := e.apply(&s.Steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (s *hintScenario) prepare(ctx context.Context) (*hintEvaluation, error) {
	cfg, err := parseConfig([]byte(s.Config))
	if err != nil {
		return nil, err
	}
	dump, err := readCluster(s.Cluster)
	if err != nil {
		return nil, err
	}
	e := &hintEvaluation{current: dump.byKey(), waiting: s.Waiting, registered: make(map[string][]registeredPlugin)}
	if e.cluster, err = newCluster(ctx, cfg, dump); err != nil {
		return nil, err
	}
	e.factory = e.cluster.factory
	for name, profile := range e.cluster.scheduler.Profiles {
		able := rejecting(profile)
		for _, plugin := range profile.EnqueueExtensions() {
			if !able[plugin.Name()] {
				continue
			}
			events, err := plugin.EventsToRegister(e.cluster.ctx)
			if err != nil {
				return nil, err
			}
			e.registered[name] = append(e.registered[name], registeredPlugin{plugin.Name(), events})
		}
	}
	return e, nil
}

// rejecting are the plugins at extension points that can reject a pod. kube-scheduler also registers the events of
// plugins that are disabled there, but only the hints of the plugins that rejected a pod are evaluated.
func rejecting(profile framework.Framework) map[string]bool {
	names := make(map[string]bool)
	set := profile.ListPlugins()
	for _, point := range []config.PluginSet{set.PreEnqueue, set.PreFilter, set.Filter, set.Reserve, set.Permit} {
		for _, plugin := range point.Enabled {
			names[plugin.Name] = true
		}
	}
	return names
}

func (e *hintEvaluation) apply(step *hintedStep) error {
	key := step.Kind + " " + step.Key
	before := e.current[key]
	var after runtime.Object
	if step.Object != nil {
		var decoded envelope
		if err := json.Unmarshal(step.Object, &decoded); err != nil {
			return err
		}
		var err error
		if after, err = objects.Decode(step.Object, decoded.APIVersion, decoded.Kind); err != nil {
			return err
		}
	}
	// Informers change their stores before they report an event.
	if err := e.store(before, after); err != nil {
		return err
	}
	if after == nil {
		delete(e.current, key)
	} else {
		e.current[key] = after
	}
	step.Events = []hintedEvent{}
	if pod, ok := before.(*v1.Pod); ok && after != nil && pod.Spec.NodeName == "" && after.(*v1.Pod).Spec.NodeName != "" {
		before = nil // a binding counts as the addition of a pod
	}
	for _, event := range eventsOf(step.Kind, before, after, slices.Contains(e.waiting, step.Key)) {
		step.Events = append(step.Events, e.hints(event, step.Key, before, after))
	}
	return nil
}

// store updates the lister of the kind.
func (e *hintEvaluation) store(before, after runtime.Object) error {
	kind := cmp.Or(after, before)
	var store cache.Store
	switch kind.(type) {
	case *v1.Node:
		store = e.factory.Core().V1().Nodes().Informer().GetStore()
	case *v1.Pod:
		store = e.factory.Core().V1().Pods().Informer().GetStore()
	default:
		store = objects.StoreOf(e.factory, kind)
	}
	if after == nil {
		return store.Delete(before)
	}
	return store.Add(after)
}

// eventsOf returns the events that kube-scheduler's event handlers derive from a change.
func eventsOf(kind string, before, after runtime.Object, waiting bool) []fwk.ClusterEvent {
	if resource, ok := eventResources[kind]; ok {
		switch {
		case before == nil:
			return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Add}}
		case after == nil:
			return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Delete}}
		}
		return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Update}}
	}
	if kind == "Node" {
		switch {
		case before == nil:
			return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Add}}
		case after == nil:
			return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Delete}}
		}
		return framework.NodeSchedulingPropertiesChange(after.(*v1.Node), before.(*v1.Node))
	}
	return podEvents(before, after, waiting)
}

func podEvents(before, after runtime.Object, waiting bool) []fwk.ClusterEvent {
	assigned := func(o runtime.Object) bool { return o != nil && o.(*v1.Pod).Spec.NodeName != "" }
	switch {
	case after == nil:
		// Also for a nominated pod; the hint must skip the others.
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
	case assigned(before):
		return framework.PodSchedulingPropertiesChange(after.(*v1.Pod), before.(*v1.Pod), false)
	case assigned(after):
		return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
	case waiting:
		return framework.PodSchedulingPropertiesChange(after.(*v1.Pod), before.(*v1.Pod), true)
	}
	return nil
}

// hints evaluates an event for all waiting pods; events of a waiting pod itself only for this pod.
func (e *hintEvaluation) hints(event fwk.ClusterEvent, key string, before, after runtime.Object) hintedEvent {
	hinted := hintedEvent{Label: event.Label(), Hints: make(map[string]string)}
	letters := make(map[string][]byte)
	for i, name := range e.waiting {
		if event.Resource == fwk.TargetPod && name != key {
			continue
		}
		pod := e.current["Pod "+name].(*v1.Pod)
		for _, plugin := range e.registered[pod.Spec.SchedulerName] {
			letter := hintOf(plugin, event, pod, before, after)
			if letter == '-' || plugin.name == uncompared {
				continue
			}
			if letters[plugin.name] == nil {
				letters[plugin.name] = []byte(strings.Repeat("-", len(e.waiting)))
			}
			letters[plugin.name][i] = letter
		}
	}
	for plugin, text := range letters {
		hinted.Hints[plugin] = string(text)
	}
	return hinted
}

// hintOf combines the results of all matching registrations of a plugin.
func hintOf(plugin registeredPlugin, event fwk.ClusterEvent, pod *v1.Pod, before, after runtime.Object) byte {
	strongest := 0
	for _, registered := range plugin.events {
		if !matches(registered.Event, event) {
			continue
		}
		strongest = max(strongest, strings.IndexByte("-SQE", callHint(registered.QueueingHintFn, pod, before, after)))
	}
	letter := "-SQE"[strongest]
	if (letter == 'S' || letter == 'Q') && mayDiffer(plugin.name, event, pod, before, after) {
		return letter + 'a' - 'A'
	}
	return letter
}

func matches(registered, event fwk.ClusterEvent) bool {
	if registered.Resource != fwk.Pod {
		return framework.MatchClusterEvents(registered, event)
	}
	return slices.ContainsFunc(framework.UnrollPodEvent(registered), func(one fwk.ClusterEvent) bool {
		return framework.MatchClusterEvents(one, event)
	})
}

func callHint(hint fwk.QueueingHintFn, pod *v1.Pod, before, after runtime.Object) byte {
	if hint == nil {
		return 'Q'
	}
	// A missing object is a nil interface without a type.
	var oldObject, newObject any
	if before != nil {
		oldObject = before
	}
	if after != nil {
		newObject = after
	}
	result, err := hint(klog.Background(), pod, oldObject, newObject)
	switch {
	case err != nil:
		return 'E'
	case result == fwk.Queue:
		return 'Q'
	}
	return 'S'
}

// mayDiffer returns whether a difference is deliberate: the hints of kube-scheduler match terms with a namespace selector
// against a namespace without labels, so that some pods are retried only after minutes, and others without need.
func mayDiffer(plugin string, event fwk.ClusterEvent, pod *v1.Pod, before, after runtime.Object) bool {
	if plugin != "InterPodAffinity" || event.Resource != fwk.AssignedPod {
		return false
	}
	return hasNamespaceSelector(pod) || hasNamespaceSelector(before) || hasNamespaceSelector(after)
}

func hasNamespaceSelector(o runtime.Object) bool {
	pod, ok := o.(*v1.Pod)
	if !ok || pod == nil || pod.Spec.Affinity == nil {
		return false
	}
	var terms []v1.PodAffinityTerm
	if affinity := pod.Spec.Affinity.PodAffinity; affinity != nil {
		terms = append(terms, affinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if anti := pod.Spec.Affinity.PodAntiAffinity; anti != nil {
		terms = append(terms, anti.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	return slices.ContainsFunc(terms, func(term v1.PodAffinityTerm) bool { return term.NamespaceSelector != nil })
}
