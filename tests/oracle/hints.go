package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

var (
	hintScale = scale{maxNodes: 8, maxBound: 20, maxPending: 14}
	// changedKinds are the kinds of objects whose changes are events, pods and nodes more often than others.
	changedKinds = []string{
		"Node", "Node", "Node", "Pod", "Pod", "Pod", "Pod", "PersistentVolumeClaim", "PersistentVolumeClaim", "PersistentVolume",
		"PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment",
	}
	changedDeviceKinds = []string{
		"ResourceClaim", "ResourceClaim", "ResourceClaim", "ResourceClaim", "ResourceClaim", "ResourceSlice", "DeviceClass",
	}
	eventResources = map[string]fwk.EventResource{
		"PersistentVolume": fwk.PersistentVolume, "PersistentVolumeClaim": fwk.PersistentVolumeClaim, "StorageClass": fwk.StorageClass,
		"CSINode": fwk.CSINode, "CSIDriver": fwk.CSIDriver, "CSIStorageCapacity": fwk.CSIStorageCapacity,
		"VolumeAttachment": fwk.VolumeAttachment, "ResourceClaim": fwk.ResourceClaim, "ResourceSlice": fwk.ResourceSlice,
		"DeviceClass": fwk.DeviceClass,
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
		if kindOf(item.(object)) == "ResourceClaim" {
			g.revise(item.(object)) // kube-scheduler's cache compares versions
		}
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
	kinds := changedKinds
	if c.focus == devices && c.chance(0.6) {
		kinds = changedDeviceKinds
	}
	kind := pick(c.rng, kinds...)
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
	if kind == "ResourceClaim" {
		return c.updateClaim(key), true
	}
	return c.update(kind, key), true
}

// updateClaim changes the status of a claim, or what no pod waits for. The specification of a claim is immutable.
func (c *changingCluster) updateClaim(key string) change {
	const kind = "ResourceClaim"
	after := copied(c.objects[kind][key]).(object)
	status, _ := after["status"].(object)
	switch {
	case c.chance(0.35):
		delete(after, "status")
	case status != nil && c.chance(0.3):
		delete(status, pick(c.rng, "allocation", "reservedFor", "devices"))
	case c.chance(0.2):
		after["metadata"].(object)["finalizers"] = array{"resource.kubernetes.io/delete-protection"}
	default:
		donor := pick(c.rng, append(slices.Clone(c.absent[kind]), c.existing(kind)...)...)
		if given, ok := donor["status"]; ok {
			after["status"] = copied(given)
		}
	}
	c.revise(after)
	c.put(after)
	return changeTo(after)
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
	// classes are the device classes that have had a name of an extended resource so far.
	classes map[string]map[string]bool
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
	e := &hintEvaluation{current: dump.byKey(), waiting: s.Waiting, registered: make(map[string][]registeredPlugin),
		classes: make(map[string]map[string]bool)}
	for _, o := range e.current {
		e.noteClass(o)
	}
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
		e.noteClass(after)
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
	if objects.Watched(kind) {
		return e.cluster.deliver(before, after)
	}
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
			if letter == '-' {
				continue
			}
			if (letter == 'S' || letter == 'Q') && e.mayDiffer(plugin.name, event, pod, before, after) {
				letter += 'a' - 'A'
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
		letter := byte('S')
		if isCandidate(registered.PreQueueingHintFn, pod, before, after) {
			letter = callHint(registered.QueueingHintFn, pod, before, after)
		}
		strongest = max(strongest, strings.IndexByte("-SQE", letter))
	}
	return "-SQE"[strongest]
}

func matches(registered, event fwk.ClusterEvent) bool {
	if registered.Resource != fwk.Pod {
		return framework.MatchClusterEvents(registered, event)
	}
	return slices.ContainsFunc(framework.UnrollPodEvent(registered), func(one fwk.ClusterEvent) bool {
		return framework.MatchClusterEvents(one, event)
	})
}

// isCandidate returns whether the queue evaluates the hint for the pod.
func isCandidate(choose fwk.PreQueueingHintFn, pod *v1.Pod, before, after runtime.Object) bool {
	if choose == nil {
		return true
	}
	candidates, err := choose(klog.Background(), untyped(before), untyped(after))
	return err != nil || candidates.AllPods ||
		slices.Contains(candidates.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

// untyped returns a missing object as a nil interface without a type.
func untyped(o runtime.Object) any {
	if o == nil {
		return nil
	}
	return o
}

func callHint(hint fwk.QueueingHintFn, pod *v1.Pod, before, after runtime.Object) byte {
	if hint == nil {
		return 'Q'
	}
	result, err := hint(klog.Background(), pod, untyped(before), untyped(after))
	switch {
	case err != nil:
		return 'E'
	case result == fwk.Queue:
		return 'Q'
	}
	return 'S'
}

// mayDiffer returns whether a difference is deliberate (docs/differences.md):
//   - The hints of kube-scheduler match terms with a namespace selector against a namespace without labels, so that some
//     pods are retried only after minutes, and others without need.
//   - If device classes share the name of an extended resource, the order of events decides for kube-scheduler.
func (e *hintEvaluation) mayDiffer(plugin string, event fwk.ClusterEvent, pod *v1.Pod, before, after runtime.Object) bool {
	switch {
	case plugin == "InterPodAffinity" && event.Resource == fwk.AssignedPod:
		return hasNamespaceSelector(pod) || hasNamespaceSelector(before) || hasNamespaceSelector(after)
	case plugin == "NodeResourcesFit" && event.Resource == fwk.Node:
		return e.requestsSharedName(pod)
	}
	return false
}

// noteClass adds the name of a class to those that it has had.
func (e *hintEvaluation) noteClass(o runtime.Object) {
	class, ok := o.(*resourcev1.DeviceClass)
	if !ok || class.Spec.ExtendedResourceName == nil {
		return
	}
	name := *class.Spec.ExtendedResourceName
	if e.classes[name] == nil {
		e.classes[name] = make(map[string]bool)
	}
	e.classes[name][class.Name] = true
}

// requestsSharedName returns whether the pod requests an extended resource of a class that has shared a name. If a class
// changes its name to one that another class keeps, kube-scheduler keeps its earlier name, too.
func (e *hintEvaluation) requestsSharedName(pod *v1.Pod) bool {
	shares := make(map[string]bool)
	for _, classes := range e.classes {
		for class := range classes {
			shares[class] = shares[class] || len(classes) > 1
		}
	}
	requested := []v1.ResourceList{pod.Spec.Overhead}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		requested = append(requested, container.Resources.Requests)
	}
	for _, list := range requested {
		for name := range list {
			if shares[strings.TrimPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)] {
				return true
			}
			for class := range e.classes[string(name)] {
				if shares[class] {
					return true
				}
			}
		}
	}
	return false
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
