package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// change is a change of one object of a cluster, as the replay programs read it.
type change struct {
	Kind string `json:"kind"`
	// Key is the name, with the namespace before it for namespaced kinds: "default/web".
	Key string `json:"key"`
	// Object is the new version; missing: the object is deleted.
	Object json.RawMessage `json:"object,omitempty"`
}

// changingCluster draws changes of a generated cluster. It follows its own changes, so that every change is one that an
// API server could report: only existing objects are updated or deleted, and identities are constant.
type changingCluster struct {
	*generator
	// objects by kind and key, with the keys in the order of their creation, because nothing may be drawn from a map.
	objects map[string]map[string]object
	keys    map[string][]string
	// absent are objects that do not exist yet or have been deleted.
	absent map[string][]object
}

// newChangingCluster splits generated objects: a part of each kind does not exist at first, except pods for which
// keep is true. The objects must not be used afterwards.
func newChangingCluster(g *generator, items array, keep func(object) bool) *changingCluster {
	c := &changingCluster{generator: g, objects: make(map[string]map[string]object), keys: make(map[string][]string),
		absent: make(map[string][]object)}
	for _, item := range items {
		o := copied(item).(object)
		if kindOf(o) != "Namespace" && !keep(o) && g.chance(0.12) {
			c.absent[kindOf(o)] = append(c.absent[kindOf(o)], o)
		} else {
			c.put(o)
		}
	}
	return c
}

func kindOf(o object) string { return o["kind"].(string) }

// keyOf is the name, with the namespace before it for namespaced kinds. Pods and claims without one are in default.
func keyOf(o object) string {
	metadata := o["metadata"].(object)
	name := metadata["name"].(string)
	if namespace, ok := metadata["namespace"].(string); ok && namespace != "" {
		return namespace + "/" + name
	}
	switch kindOf(o) {
	case "Pod", "PersistentVolumeClaim", "CSIStorageCapacity", "ResourceClaim", "Service", "ReplicationController", "ReplicaSet", "StatefulSet",
		"PodDisruptionBudget":
		return "default/" + name
	}
	return name
}

func (c *changingCluster) put(o object) {
	kind, key := kindOf(o), keyOf(o)
	if c.objects[kind] == nil {
		c.objects[kind] = make(map[string]object)
	}
	if c.objects[kind][key] == nil {
		c.keys[kind] = append(c.keys[kind], key)
	}
	c.objects[kind][key] = o
}

func (c *changingCluster) remove(kind, key string) {
	delete(c.objects[kind], key)
	c.keys[kind] = slices.DeleteFunc(c.keys[kind], func(k string) bool { return k == key })
}

// items are the objects that exist, by kind in the order of their creation.
func (c *changingCluster) items() array {
	var items array
	for _, kind := range slices.Sorted(maps.Keys(c.objects)) {
		for _, o := range c.existing(kind) {
			items = append(items, o)
		}
	}
	return items
}

// add draws an object of the kind that does not exist, and creates it.
func (c *changingCluster) add(kind string) (change, bool) {
	if len(c.absent[kind]) == 0 {
		return change{}, false
	}
	i := c.IntN(len(c.absent[kind]))
	o := c.absent[kind][i]
	c.absent[kind] = slices.Delete(c.absent[kind], i, i+1)
	if c.objects[kind][keyOf(o)] != nil {
		return change{}, false
	}
	c.put(o)
	return changeTo(o), true
}

// update replaces parts of an existing object by those of another one of its kind.
func (c *changingCluster) update(kind, key string) change {
	donors := append(slices.Clone(c.absent[kind]), c.existing(kind)...)
	after := copied(c.objects[kind][key]).(object)
	for range c.between(1, 3) {
		c.adopt(after, pick(c.rng, donors...))
	}
	preserve(after, c.objects[kind][key])
	c.revise(after)
	c.put(after)
	return changeTo(after)
}

// revise gives an object a resource version above all earlier ones.
func (g *generator) revise(o object) {
	o["metadata"].(object)["resourceVersion"] = fmt.Sprint(1_000_000 + g.number())
}

func (c *changingCluster) existing(kind string) []object {
	var items []object
	for _, key := range c.keys[kind] {
		items = append(items, c.objects[kind][key])
	}
	return items
}

// delete removes an object; it may be created again.
func (c *changingCluster) delete(kind, key string) change {
	o := c.objects[kind][key]
	c.remove(kind, key)
	c.absent[kind] = append(c.absent[kind], o)
	return change{Kind: kind, Key: key}
}

// anyKey draws an existing object of the kind.
func (c *changingCluster) anyKey(kind string, suitable func(object) bool) (string, bool) {
	var keys []string
	for _, key := range c.keys[kind] {
		if suitable(c.objects[kind][key]) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "", false
	}
	return pick(c.rng, keys...), true
}

// immutable fields; spec.nodeName is set by a binding only.
var immutable = map[string][]string{
	"metadata": {"name", "namespace", "uid"},
	"spec":     {"nodeName", "schedulerName", "priority", "preemptionPolicy"},
}

// preserve restores the immutable fields of an earlier version.
func preserve(o, earlier object) {
	for part, fields := range immutable {
		old, _ := earlier[part].(object)
		current, ok := o[part].(object)
		if !ok {
			current = object{}
		}
		for _, field := range fields {
			if value, ok := old[field]; ok {
				current[field] = value
			} else {
				delete(current, field)
			}
		}
		if len(current) > 0 {
			o[part] = current
		}
	}
	unfinished(o)
	sortFeatures(o)
}

// sortFeatures sorts the declared features of a node; the API server accepts no other order.
func sortFeatures(o object) {
	status, _ := o["status"].(object)
	if features, ok := status["declaredFeatures"].(array); ok {
		slices.SortFunc(features, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		status["declaredFeatures"] = slices.Compact(features)
	}
}

// unfinished keeps a pod from having finished: the scheduler does not watch such pods.
func unfinished(o object) {
	if status, ok := o["status"].(object); ok && kindOf(o) == "Pod" && (status["phase"] == "Succeeded" || status["phase"] == "Failed") {
		status["phase"] = "Running"
	}
}

// adopt copies one part of the donor into an object, at any depth.
func (c *changingCluster) adopt(o, donor object) {
	keys := make(map[string]bool)
	for key := range o {
		keys[key] = true
	}
	for key := range donor {
		keys[key] = true
	}
	delete(keys, "apiVersion")
	delete(keys, "kind")
	if len(keys) == 0 {
		return
	}
	key := pick(c.rng, slices.Sorted(maps.Keys(keys))...)
	if key == "containers" || key == "initContainers" {
		// Their number is constant.
		mine, _ := o[key].(array)
		theirs, _ := donor[key].(array)
		if len(mine) > 0 && len(theirs) > 0 {
			c.adopt(pick(c.rng, mine...).(object), pick(c.rng, theirs...).(object))
		}
		return
	}
	o[key] = c.mixed(o[key], donor[key])
	if o[key] == nil {
		delete(o, key)
	}
}

// mixed returns one of two values, or a mixture of two objects or lists.
func (c *changingCluster) mixed(mine, theirs any) any {
	if a, ok := mine.(object); ok {
		if b, ok := theirs.(object); ok && len(a)+len(b) > 0 && c.chance(0.8) {
			c.adopt(a, b)
			return a
		}
	}
	if a, ok := mine.(array); ok && len(a) > 0 && c.chance(0.5) {
		i := c.IntN(len(a))
		if b, ok := theirs.(array); ok && len(b) > 0 && c.chance(0.6) {
			return append(a, copied(pick(c.rng, b...)))
		}
		return slices.Delete(a, i, i+1)
	}
	return copied(theirs)
}

func changeTo(o object) change {
	text, err := toJSON(o)
	if err != nil {
		panic(err) // every object has been encoded before
	}
	return change{Kind: kindOf(o), Key: keyOf(o), Object: text}
}

// copied is a deep copy of a JSON value.
func copied(v any) any {
	text, err := toJSON(v)
	if err != nil {
		panic(err) // generated values are JSON
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		panic(err)
	}
	return out
}
