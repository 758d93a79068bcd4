package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.test/objects"
)

// sequence is a cluster that changes while pods are scheduled one after the other. Each scheduled pod stays on the node
// that Berth has chosen.
type sequence struct {
	Seed    uint64          `json:"seed"`
	Config  string          `json:"config"`
	Gates   string          `json:"gates,omitempty"`
	Cluster json.RawMessage `json:"cluster"`
	// Random: Berth chooses among equal nodes at random, as in production; otherwise the first by name.
	Random bool `json:"random,omitempty"`
	// Reserve: volumes are reserved for assumed pods. With several profiles they are not: in kube-scheduler a profile does
	// not see what another one has reserved.
	Reserve bool           `json:"reserve,omitempty"`
	Steps   []sequenceStep `json:"steps"`

	// Sampled: percentageOfNodesToScore is in effect.
	sampled bool
}

// sequenceStep is a change of the cluster, or the decision about a pod, or the confirmation of its binding. Scheduled
// pods that are not confirmed are assumed.
type sequenceStep struct {
	change
	Decide  string `json:"decide,omitempty"`
	Confirm string `json:"confirm,omitempty"`
	// Release removes what deleted pods have left behind.
	Release bool `json:"release,omitempty"`
	// Record is the result of a decision in a recording.
	Record string `json:"record,omitempty"`
}

// generateSequence draws a sequence. The steps do not depend on the decisions; a confirmation of a pod that was not
// scheduled has no effect.
func generateSequence(seed uint64, size int) (*sequence, error) {
	allowed, err := focusPlugins(mixed)
	if err != nil {
		return nil, err
	}
	g := &generator{rng: newRNG(seed), plugins: allowed, focus: mixed}
	g.character()
	g.plain()
	nodes := pick(g.rng, 20, 40, 70, 120, 200)
	if size > 0 {
		nodes = size
	}
	s := &sequence{Seed: seed, Random: g.chance(0.5), sampled: nodes >= minSampled && g.chance(0.5)}
	config := g.config()
	delete(config, "percentageOfNodesToScore")
	for _, profile := range config["profiles"].(array) {
		delete(profile.(object), "percentageOfNodesToScore")
		if s.Random {
			g.limitCandidates(profile.(object))
		}
		if s.sampled {
			profile.(object)["percentageOfNodesToScore"] = pick(g.rng, 5, 50, 60, 75, 90)
		}
	}
	s.Reserve = len(g.schedulers) == 1
	s.Gates = g.gates()
	if strings.Contains(s.Gates, "StorageCapacityScoring") {
		withoutShapes(config)
	}
	text, err := toYAML(config)
	if err != nil {
		return nil, err
	}
	s.Config = string(text)

	items := g.cluster(scale{nodes: nodes, maxBound: nodes, maxPending: 0})
	drawn := len(g.storage.objects)
	shapes := g.shapes()
	items = append(items, g.storage.objects[drawn:]...)
	for i := range 12 {
		items = append(items, g.node(g.nodeName(1000+i, 1012)), withoutPorts(g.boundPod(1000+i)))
	}
	if g.chance(0.3) {
		for i := range 2 {
			items = append(items, g.nominee(i))
		}
	}
	for _, item := range items {
		if o := item.(object); kindOf(o) == "Pod" {
			withoutPorts(o)
			unfinished(o)
		}
	}
	c := newChangingCluster(g, items, func(object) bool { return false })
	if s.Cluster, err = toJSON(object{"apiVersion": "v1", "kind": "List", "items": c.items()}); err != nil {
		return nil, err
	}
	s.Steps = c.sequenceSteps(shapes)
	return s, nil
}

// limitCandidates sets a small number of candidates for preemption.
func (g *generator) limitCandidates(profile object) {
	args, _ := profile["pluginConfig"].(array)
	args = slices.DeleteFunc(args, func(a any) bool { return a.(object)["name"] == "DefaultPreemption" })
	profile["pluginConfig"] = append(args, object{"name": "DefaultPreemption", "args": object{
		"minCandidateNodesPercentage": pick(g.rng, 0, 5, 20, 100), "minCandidateNodesAbsolute": pick(g.rng, 1, 2, 5)}})
}

// minSampled is the number of nodes from which kube-scheduler samples.
const minSampled = 100

// plain excludes what the comparison of single decisions covers and what would make most decisions trivial.
func (g *generator) plain() {
	g.wild, g.unusual, g.tight, g.uniform = false, 0, false, false
	g.taints, g.scalars = pick(g.rng, 0, 0.1, 0.3), pick(g.rng, 0, 0, 0.2)
	g.topology, g.affinities = pick(g.rng, 0, 0.3, 0.8), pick(g.rng, 0, 0.3, 0.8)
	g.volumes, g.preemption = pick(g.rng, 0, 0, 0, 0.3, 0.8), pick(g.rng, 0, 0.3, 0.6)
	g.features = 0
	g.cores = pick(g.rng, 4, 16)
	g.podCPU, g.podMemory = pick(g.rng, 200, 800), pick(g.rng, 256, 1024)
}

// shapes draws the pods that the pending ones copy.
func (g *generator) shapes() []object {
	var shapes []object
	for len(shapes) < g.between(1, 4) {
		pod := g.pendingPod(100 + len(shapes))
		metadata, spec, status := pod["metadata"].(object), pod["spec"].(object), pod["status"].(object)
		if !g.isRejectable(pod) || metadata["deletionTimestamp"] != nil || spec["schedulingGates"] != nil {
			continue
		}
		delete(status, "nominatedNodeName")
		if g.chance(0.6) {
			// Most random node selectors leave few nodes.
			delete(spec, "nodeSelector")
			delete(spec, "affinity")
		}
		if g.chance(0.5) {
			port := object{"containerPort": 80, "hostPort": pick(g.rng, 80, 443, 8080)}
			spec["containers"].(array)[0].(object)["ports"] = array{port}
		}
		if g.volumes > 0 && g.chance(0.5) {
			g.giveClaim(pod, len(shapes))
		}
		shapes = append(shapes, pod)
	}
	return shapes
}

// giveClaim replaces the volumes and the node affinity of a pod by one claim that is bound when the pod is scheduled, and
// draws volumes for it.
func (g *generator) giveClaim(pod object, i int) {
	metadata, spec := pod["metadata"].(object), pod["spec"].(object)
	delete(spec, "nodeSelector")
	delete(spec, "affinity")
	name := fmt.Sprintf("data-%d", i)
	spec["volumes"] = array{object{"name": "data", "persistentVolumeClaim": object{"claimName": name}}}
	class := pick(g.rng, "local", "local", "fast", "zonal")
	claim := object{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": object{"name": name, "namespace": cmp.Or[any](metadata["namespace"], "default"), "uid": "claim-uid-" + name},
		"spec": object{"storageClassName": class, "accessModes": array{"ReadWriteOnce"},
			"resources": object{"requests": object{"storage": "1Gi"}}},
		"status": object{"phase": "Pending"}}
	g.storage.objects = append(g.storage.objects, claim)
	if class == "local" {
		for range 20 {
			g.volume(class, g.between(1, 24)*512, "Available")
		}
	}
}

// nominee is a pod that waits for its nominated node: it counts there for pods of the same and lower priority.
func (g *generator) nominee(i int) object {
	pod := withoutPorts(g.pendingPod(2000 + i))
	pod["spec"].(object)["priority"] = pick(g.rng, 0, 100, 100000)
	pod["spec"].(object)["schedulerName"] = g.schedulers[0]
	pod["status"] = object{"phase": "Pending", "nominatedNodeName": pick(g.rng, g.nodeNames...)}
	delete(pod["metadata"].(object), "deletionTimestamp")
	delete(pod["spec"].(object), "schedulingGates")
	return pod
}

// withoutPorts removes host ports: kube-scheduler stores the used ports of a node as a set, and two pods with the same
// port on one node cannot occur in a cluster.
func withoutPorts(pod object) object {
	spec := pod["spec"].(object)
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].(array)
		for _, container := range containers {
			delete(container.(object), "ports")
		}
	}
	return pod
}

// sequenceSteps draws decisions about copies of the shapes, and changes of the cluster between them.
func (c *changingCluster) sequenceSteps(shapes []object) []sequenceStep {
	var steps []sequenceStep
	var decided, unconfirmed []string
	number := 0
	apply := func(planned change, ok bool) {
		if ok {
			steps = append(steps, sequenceStep{change: planned})
		}
	}
	quiet := c.chance(0.4)
	for len(steps) < 70 {
		if number > 0 && c.chance(pick(c.rng, 0.3, 0.6)) && (!quiet || c.chance(0.3)) {
			switch c.IntN(10) {
			case 0, 1, 2:
				if len(unconfirmed) > 0 {
					i := c.IntN(len(unconfirmed))
					steps = append(steps, sequenceStep{Confirm: unconfirmed[i]})
					unconfirmed = slices.Delete(unconfirmed, i, i+1)
				}
			case 3:
				if len(decided) > 0 {
					i := c.IntN(len(decided))
					apply(change{Kind: "Pod", Key: decided[i]}, true)
					unconfirmed = slices.DeleteFunc(unconfirmed, func(key string) bool { return key == decided[i] })
					decided = slices.Delete(decided, i, i+1)
				}
			case 4:
				steps = append(steps, sequenceStep{Release: true})
			case 5:
				apply(c.add(pick(c.rng, "Node", "Pod", "Service", "PodDisruptionBudget")))
			case 6:
				kind := pick(c.rng, "Node", "Pod", "Pod", "Service")
				if key, ok := c.anyKey(kind, anything); ok {
					apply(c.delete(kind, key), true)
				}
			default:
				kind := pick(c.rng, "Node", "Node", "Node", "Pod", "Namespace", "Service", "CSINode")
				if key, ok := c.anyKey(kind, isSettled); ok {
					apply(c.update(kind, key), true)
				}
			}
			continue
		}
		pod := copied(pick(c.rng, shapes...)).(object)
		number++
		metadata := pod["metadata"].(object)
		metadata["name"] = fmt.Sprintf("copy-%d", number)
		metadata["uid"] = fmt.Sprintf("copy-uid-%d", number)
		key := keyOf(pod)
		for _, claim := range c.ownClaims(pod, number) {
			apply(changeTo(claim), true)
		}
		apply(changeTo(pod), true)
		steps = append(steps, sequenceStep{Decide: key})
		decided, unconfirmed = append(decided, key), append(unconfirmed, key)
	}
	return steps
}

// ownClaims gives a copy of a pod claims of its own, where the original has claims that wait for it.
func (c *changingCluster) ownClaims(pod object, number int) (claims []object) {
	volumes, _ := pod["spec"].(object)["volumes"].(array)
	for _, volume := range volumes {
		source, ok := volume.(object)["persistentVolumeClaim"].(object)
		if !ok {
			continue
		}
		namespace, _, _ := strings.Cut(keyOf(pod), "/")
		original := c.objects["PersistentVolumeClaim"][namespace+"/"+source["claimName"].(string)]
		if original == nil || original["status"].(object)["phase"] != "Pending" || !c.chance(0.7) {
			continue
		}
		claim := copied(original).(object)
		metadata := claim["metadata"].(object)
		metadata["name"] = fmt.Sprintf("%s-%d", metadata["name"], number)
		metadata["uid"] = fmt.Sprintf("%s-%d", metadata["uid"], number)
		source["claimName"] = metadata["name"]
		c.put(claim)
		claims = append(claims, claim)
	}
	return claims
}

func anything(object) bool { return true }

// isSettled: a pod with a nominated node is not updated.
func isSettled(o object) bool { return kindOf(o) != "Pod" || !isPending(o) }

// sequenceRun is a sequence on the real plugins.
type sequenceRun struct {
	*sequence
	cluster *Cluster
	current map[string]runtime.Object
	// assumed are the pods on the nodes that Berth has chosen, until they are confirmed.
	assumed map[string]reservation
}

// reservation is an assumed pod and the state with which plugins have reserved its volumes.
type reservation struct {
	pod     *v1.Pod
	profile framework.Framework
	state   fwk.CycleState
}

func (s *sequence) start(ctx context.Context) (*sequenceRun, error) {
	cfg, err := parseConfig([]byte(s.Config))
	if err != nil {
		return nil, err
	}
	dump, err := readCluster(s.Cluster)
	if err != nil {
		return nil, err
	}
	r := &sequenceRun{sequence: s, current: dump.byKey(), assumed: make(map[string]reservation)}
	if r.cluster, err = newSampledCluster(ctx, cfg, dump, s.sampled); err != nil {
		return nil, err
	}
	return r, nil
}

// apply applies a change to the cache and the listers, in the order of kube-scheduler's event handlers.
func (r *sequenceRun) apply(c change) error {
	key := c.Kind + " " + c.Key
	before := r.current[key]
	var after runtime.Object
	if c.Object != nil {
		var decoded envelope
		if err := json.Unmarshal(c.Object, &decoded); err != nil {
			return err
		}
		var err error
		if after, err = objects.Decode(c.Object, decoded.APIVersion, decoded.Kind); err != nil {
			return err
		}
		r.current[key] = after
	} else {
		delete(r.current, key)
	}
	logger := logr.Discard()
	cache := r.cluster.scheduler.Cache
	switch c.Kind {
	case "Node":
		store := r.cluster.factory.Core().V1().Nodes().Informer().GetStore()
		switch {
		case after == nil:
			if err := store.Delete(before); err != nil {
				return err
			}
			return cache.RemoveNode(logger, before.(*v1.Node))
		case before == nil:
			cache.AddNode(logger, after.(*v1.Node))
		default:
			cache.UpdateNode(logger, before.(*v1.Node), after.(*v1.Node))
		}
		return store.Add(after)
	case "Pod":
		return r.applyPod(c.Key, before, after)
	}
	store := objects.StoreOf(r.cluster.factory, cmp.Or(after, before))
	if after == nil {
		return store.Delete(before)
	}
	return store.Add(after)
}

func (r *sequenceRun) applyPod(key string, before, after runtime.Object) error {
	logger := logr.Discard()
	cache, queue := r.cluster.scheduler.Cache, r.cluster.scheduler.SchedulingQueue
	store := r.cluster.factory.Core().V1().Pods().Informer().GetStore()
	if after == nil {
		if err := store.Delete(before); err != nil {
			return err
		}
		if assumed, ok := r.assumed[key]; ok {
			delete(r.assumed, key)
			if r.Reserve {
				assumed.profile.RunReservePluginsUnreserve(r.cluster.ctx, assumed.state, assumed.pod, assumed.pod.Spec.NodeName)
			}
			return cache.ForgetPod(logger, assumed.pod)
		}
		if pod := before.(*v1.Pod); pod.Spec.NodeName != "" {
			return cache.RemovePod(logger, pod)
		}
		queue.Delete(logger, before.(*v1.Pod))
		return nil
	}
	if err := store.Add(after); err != nil {
		return err
	}
	pod := after.(*v1.Pod)
	switch {
	case pod.Spec.NodeName == "":
		if pod.Status.NominatedNodeName != "" {
			queue.Add(r.cluster.ctx, pod)
		}
		return nil
	case before == nil || before.(*v1.Pod).Spec.NodeName == "":
		return cache.AddPod(logger, r.cluster.started(pod))
	}
	return cache.UpdatePod(logger, before.(*v1.Pod), r.cluster.started(pod))
}

// confirm reports the binding of an assumed pod.
func (r *sequenceRun) confirm(key string) error {
	assumed, ok := r.assumed[key]
	if !ok {
		return nil
	}
	delete(r.assumed, key)
	bound := r.current["Pod "+key].(*v1.Pod).DeepCopy()
	bound.Spec.NodeName = assumed.pod.Spec.NodeName
	bound = r.cluster.started(bound)
	r.current["Pod "+key] = bound
	if err := r.cluster.factory.Core().V1().Pods().Informer().GetStore().Add(bound); err != nil {
		return err
	}
	return r.cluster.scheduler.Cache.AddPod(logr.Discard(), bound)
}

// decide evaluates a pod with the real plugins and assumes it on the node of Berth's record. It returns a description
// of the difference; empty: the records agree.
func (r *sequenceRun) decide(key, berth string) (record *Record, difference string, err error) {
	pod := r.current["Pod "+key].(*v1.Pod)
	if err := r.cluster.snapshot(); err != nil {
		return nil, "", err
	}
	if r.sampled {
		record, err = r.cluster.evaluateSampled(pod)
	} else {
		record, err = r.cluster.evaluateChecked(pod)
	}
	if err != nil {
		return nil, "", err
	}
	var got Record
	if err := json.Unmarshal([]byte(berth), &got); err != nil {
		return nil, "not a record: " + berth, nil
	}
	if difference := r.differences(record, got); difference != "" {
		return record, difference, nil
	}
	if got.Result == resultScheduled {
		assumed := pod.DeepCopy()
		assumed.Spec.NodeName = got.Node
		assumed = r.cluster.started(assumed)
		profile := r.cluster.scheduler.Profiles[pod.Spec.SchedulerName]
		r.assumed[key] = reservation{assumed, profile, r.cluster.state}
		if err := r.cluster.scheduler.Cache.AssumePod(logr.Discard(), assumed); err != nil {
			return nil, "", err
		}
		if !r.Reserve {
			return record, "", nil
		}
		return record, "", profile.RunReservePluginsReserve(r.cluster.ctx, r.cluster.state, assumed, got.Node).AsError()
	}
	return record, "", nil
}

// differences compares the records. Berth's node and nomination must be possible ones.
func (r *sequenceRun) differences(want *Record, got Record) string {
	if got.Result == resultScheduled && !slices.Contains(want.BestNodes, got.Node) {
		return fmt.Sprintf("node %s is not among the best nodes %v", got.Node, want.BestNodes)
	}
	expected := *want
	if got.Result == resultScheduled {
		expected.Node = got.Node
	}
	if r.Random && got.Nomination != nil && want.Nomination != nil {
		if want.candidates == nil || !want.candidates.allows(got.Nomination) {
			return fmt.Sprintf("nomination %s is not possible; without a limit it is %s", say(got.Nomination), say(want.Nomination))
		}
		// The message and the victims are those of another node.
		expected.Nomination, expected.Message = got.Nomination, got.Message
	}
	if r.sampled {
		onlyVisited(&expected, &got, r.cluster.visited)
	}
	wantLine, err := expected.line()
	if err != nil {
		return err.Error()
	}
	gotLine, err := got.line()
	if err != nil {
		return err.Error()
	}
	if wantLine == gotLine {
		return ""
	}
	kind, detail := difference(wantLine, gotLine)
	return fmt.Sprintf("%s: %s\n  real  %s\n  berth %s", kind, detail, shorten(focus(wantLine, detail), 1500), shorten(focus(gotLine, detail), 1500))
}

// onlyVisited removes the nodes that kube-scheduler's search has not visited.
func onlyVisited(want, got *Record, visited map[string]bool) {
	if visited == nil {
		return
	}
	for _, record := range []*Record{want, got} {
		if record.Nodes != nil {
			kept := slices.DeleteFunc(slices.Clone(*record.Nodes), func(v NodeVerdict) bool { return !visited[v.Name] })
			record.Nodes = &kept
		}
	}
}

// evaluateSampled lets the scheduler decide with its own search, and records the results of the nodes that it visited.
func (c *Cluster) evaluateSampled(pod *v1.Pod) (*Record, error) {
	profile := c.scheduler.Profiles[pod.Spec.SchedulerName]
	start := int(reflect.ValueOf(c.scheduler).Elem().FieldByName("nextStartNodeIndex").Int())
	info, _ := framework.NewPodInfo(pod)
	result, err := c.scheduler.SchedulePod(c.ctx, profile, framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
	c.visited, c.search = nil, nil
	if err == nil {
		c.search = func(targets []fwk.NodeInfo) []fwk.NodeInfo {
			c.visited = make(map[string]bool)
			var visited []fwk.NodeInfo
			for i := range min(result.EvaluatedNodes, len(targets)) {
				node := targets[(start+i)%len(targets)]
				visited = append(visited, node)
				c.visited[node.Node().Name] = true
			}
			return visited
		}
	}
	record := c.evaluate(pod)
	c.search = nil
	switch {
	case err == nil && (record.Result != resultScheduled || !slices.Contains(record.BestNodes, result.SuggestedHost)):
		return nil, fmt.Errorf("pod %s: the scheduler takes %s, the record says %s %v", record.Pod, result.SuggestedHost, record.Result, record.BestNodes)
	case err != nil && record.Result == resultScheduled:
		return nil, fmt.Errorf("pod %s: the scheduler says %q, the record %s", record.Pod, err, record.Node)
	}
	return record, nil
}
