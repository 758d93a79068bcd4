package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"berth.test/handlers"
	"berth.test/objects"
)

// groupScenario is a cluster that changes while a complete scheduler places pod groups.
type groupScenario struct {
	Seed   uint64      `json:"seed"`
	Config string      `json:"config"`
	Gates  string      `json:"gates"`
	Steps  []groupStep `json:"steps"`

	// sampled: percentageOfNodesToScore is in effect.
	sampled bool
}

// mostCycles limits the cycles of a step: a group with a member whose binding fails is retried at once.
const mostCycles = 12

// groupStep changes objects. Then the scheduler works until no entry of its queue is active.
type groupStep struct {
	// Advance moves the clock, in milliseconds.
	Advance int64 `json:"advance,omitempty"`
	// Deliver: the watch delivers all objects that the scheduler has written.
	Deliver bool     `json:"deliver,omitempty"`
	Changes []change `json:"changes,omitempty"`
	// Result is the result in a recording.
	Result string `json:"result,omitempty"`
}

// groupResult are the writes and events of a step, and the state of the queue after it. Lists and maps without an
// element are missing.
type groupResult struct {
	Bound   []string                     `json:"bound,omitempty"`
	Deleted []string                     `json:"deleted,omitempty"`
	Patches map[string][]json.RawMessage `json:"patches,omitempty"` // by kind and key
	Events  map[string][]string          `json:"events,omitempty"`  // by key
	Claims  map[string]string            `json:"claims,omitempty"`  // by key: the devices and consumers of those that were written
	Waiting []string                     `json:"waiting,omitempty"` // for Permit
	Queue   map[string]string            `json:"queue,omitempty"`   // the place of each pod, for members that of the group
}

// groupRun is a scenario on kube-scheduler: its constructor, its handlers of events, its queue, cache and cycles. Only
// the API server is missing, which accepts every write.
type groupRun struct {
	ctx       context.Context
	cancel    context.CancelFunc
	scheduler *scheduler.Scheduler
	factory   informers.SharedInformerFactory
	view      *internalcache.Snapshot
	clock     *testingclock.FakeClock
	current   map[string]runtime.Object
	versions  int
	// entity is the entry of the queue that was popped last.
	entity framework.QueuedEntityInfo
	// executors evict the victims of the preemptions, by profile.
	executors map[string]*preemption.Executor
	// evict is closed when victims may be evicted: at the end of the cycle.
	evict chan struct{}
	// scheduled is closed when the scheduling cycle has ended, before which no binding ends. Guarded by lock.
	scheduled chan struct{}
	// cycles counts the cycles by result.
	cycles map[string]int

	lock   sync.Mutex
	result groupResult
	// ended are the pods whose attempt has ended, by key.
	ended map[string]bool
	// written are the objects that were written and not delivered.
	written map[string]*writtenState
	// claims are the claims that were written in this cycle. The watch delivers them at its end.
	claims  map[string]*resourcev1.ResourceClaim
	changed *sync.Cond
}

type writtenState struct {
	node    string
	patches [][]byte
	// deleted: first the object is terminating, and the next delivery removes it.
	deleted bool
}

func newGroupRun(ctx context.Context, s *groupScenario) (*groupRun, error) {
	cfg, err := parseConfig([]byte(s.Config))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &groupRun{ctx: ctx, cancel: cancel, view: internalcache.NewEmptySnapshot(), clock: testingclock.NewFakeClock(time.Unix(1_000_000, 0)),
		current: make(map[string]runtime.Object), cycles: make(map[string]int), ended: make(map[string]bool),
		written: make(map[string]*writtenState), claims: make(map[string]*resourcev1.ResourceClaim), executors: make(map[string]*preemption.Executor)}
	r.changed = sync.NewCond(&r.lock)
	client := fake.NewSimpleClientset()
	client.PrependReactor("*", "*", r.write)
	r.factory = scheduler.NewInformerFactory(client, 0, nil)
	profiles := cfg.Profiles
	if !s.sampled {
		for i := range profiles {
			profiles[i].PercentageOfNodesToScore = ptr.To[int32](100)
		}
	}
	if err := r.build(client, cfg.APIVersion, profiles); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

func (r *groupRun) build(client *fake.Clientset, version string, profiles []config.KubeSchedulerProfile) (err error) {
	r.scheduler, err = scheduler.New(r.ctx, client, r.factory, nil,
		func(name string) events.EventRecorderLogger { return &groupEvents{r, name} },
		scheduler.WithComponentConfigVersion(version),
		scheduler.WithProfiles(profiles...),
		scheduler.WithPercentageOfNodesToScore(ptr.To[int32](100)),
		scheduler.WithParallelism(1),
		scheduler.WithNodeInfoSnapshot(r.view),
		scheduler.WithClock(r.clock),
	)
	if err != nil {
		return err
	}
	for name, profile := range r.scheduler.Profiles {
		r.evictAfterCycles(name, profile)
		r.scheduler.Profiles[name] = firstByName{profile, r}
	}
	pop := r.scheduler.NextEntity
	r.scheduler.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := pop(logger)
		r.entity = entity
		return entity, err
	}
	fail := r.scheduler.FailureHandler
	r.scheduler.FailureHandler = func(ctx context.Context, profile framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time) {
		fail(ctx, profile, pod, status, nominating, start)
		r.end(podKey(pod.Pod))
	}
	return nil
}

func (r *groupRun) close() {
	r.scheduler.SchedulingQueue.Close()
	r.cancel()
}

// firstByName is a profile that prefers, among equal nodes, the first by name. kube-scheduler chooses at random.
type firstByName struct {
	framework.Framework
	run *groupRun
}

func (f firstByName) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(scores[a].Name, scores[b].Name) })
	for rank, i := range order {
		scores[i].TotalScore = scores[i].TotalScore*int64(len(scores)) - int64(rank)
	}
	return scores, status
}

func (f firstByName) RunPlacementGeneratePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo) ([]*fwk.Placement, *fwk.Status) {
	placements, status := f.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	slices.SortFunc(placements, func(a, b *fwk.Placement) int { return strings.Compare(a.Name, b.Name) })
	return placements, status
}

func (f firstByName) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo,
	assignments []*fwk.PodGroupAssignments, states []fwk.PlacementCycleState) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := f.Framework.RunPlacementScorePlugins(ctx, state, group, assignments, states)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(scores[a].Placement.Name, scores[b].Placement.Name) })
	for rank, i := range order {
		scores[i].TotalScore = scores[i].TotalScore*int64(len(scores)) - int64(rank)
	}
	return scores, status
}

// RunPreBindPlugins lets DynamicResources write before VolumeBinding fails. kube-scheduler runs them at the same time, and a
// failure cancels the other one; with the one worker of the oracle it would never have started. Nothing is written before all
// members of a group have passed Permit, because a failure would let the later ones wait there; a real write takes longer.
func (f firstByName) RunPreBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	f.run.awaitScheduled()
	skipped := state.GetSkipPreBindPlugins()
	defer state.SetSkipPreBindPlugins(skipped)
	runWithout := func(plugin string) *fwk.Status {
		state.SetSkipPreBindPlugins(skipped.Union(sets.New(plugin)))
		return f.Framework.RunPreBindPlugins(ctx, state, pod, node)
	}
	devices := runWithout(names.VolumeBinding)
	if volumes := runWithout(names.DynamicResources); !volumes.IsSuccess() {
		return volumes
	}
	return devices
}

// evictAfterCycles lets the preemptions of a profile evaluate every node, choose the first of equal nodes by name, and
// start their evictions at the end of the cycle. kube-scheduler evicts while the cycle ends.
func (r *groupRun) evictAfterCycles(name string, profile framework.Framework) {
	for _, plugin := range profile.PreEnqueuePlugins() {
		real, ok := plugin.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		real.Evaluator = preemption.NewEvaluator(defaultpreemption.Name, profile, everyNode{real}, real.Executor)
		real.Evaluator.PdbLister = sortedBudgets{real.Evaluator.PdbLister}
		r.executors[name] = real.Executor
		preempt := real.Executor.PreemptPod
		real.Executor.PreemptPod = func(ctx context.Context, c preemption.Candidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, plugin string) (bool, error) {
			<-r.evict
			inMemory, err := preempt(ctx, c, preemptor, victim, plugin)
			r.lock.Lock()
			defer r.lock.Unlock()
			for inMemory && !r.ended[podKey(victim)] {
				r.changed.Wait()
			}
			return inMemory, err
		}
	}
}

// everyNode is DefaultPreemption that evaluates every node and chooses the first of equal nodes by name.
type everyNode struct {
	*defaultpreemption.DefaultPreemption
}

func (e everyNode) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

func (e everyNode) OrderedScoreFuncs(_ context.Context, nodes map[string]*extenderv1.Victims) []func(string) int64 {
	best := equalBest(nodes)[0]
	return []func(string) int64{func(node string) int64 {
		if node == best {
			return 1
		}
		return 0
	}}
}

// isPreempting returns whether the entry of the last cycle has started evictions that have not ended.
func (r *groupRun) isPreempting() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r.executors)), func(executor *preemption.Executor) bool {
		switch entity := r.entity.(type) {
		case *framework.QueuedPodGroupInfo:
			if entity.CompositePodGroup != nil {
				return executor.IsPodGroupRunningPreemption(entity.CompositePodGroup.UID)
			}
			return entity.PodGroup != nil && executor.IsPodGroupRunningPreemption(entity.PodGroup.UID)
		case *framework.QueuedPodInfo:
			return executor.IsPodRunningPreemption(entity.Pod.UID)
		}
		return false
	})
}

// finishPreemption evicts the victims of the last cycle and waits until kube-scheduler's goroutine has ended.
func (r *groupRun) finishPreemption() error {
	before := endedPreemptions()
	running := r.isPreempting()
	close(r.evict)
	for started := time.Now(); running && endedPreemptions() == before; time.Sleep(50 * time.Microsecond) {
		if time.Since(started) > 19*time.Second {
			return errors.New("the preemption does not end")
		}
	}
	return nil
}

// endedPreemptions counts the goroutines of preemptions that have ended.
func endedPreemptions() (count float64) {
	for _, result := range []string{metrics.GoroutineResultSuccess, metrics.GoroutineResultError} {
		var value dto.Metric
		if counter, ok := metrics.PreemptionGoroutinesExecutionTotal.WithLabelValues(result).(prometheus.Metric); ok && counter.Write(&value) == nil {
			count += value.GetCounter().GetValue()
		}
	}
	return count
}

// groupEvents records the events of a profile.
type groupEvents struct {
	run     *groupRun
	profile string
}

func (g *groupEvents) Eventf(regarding, _ runtime.Object, _, reason, action, note string, args ...any) {
	pod := regarding.(*v1.Pod)
	g.run.lock.Lock()
	defer g.run.lock.Unlock()
	if g.run.result.Events == nil {
		g.run.result.Events = make(map[string][]string)
	}
	key := podKey(pod)
	text := fmt.Sprintf("%s %s %s: %s", g.profile, reason, action, fmt.Sprintf(note, args...))
	g.run.result.Events[key] = append(g.run.result.Events[key], text)
	if reason == "Scheduled" {
		g.run.ended[key] = true
		g.run.changed.Broadcast()
	}
}

func (g *groupEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return g }

func (r *groupRun) end(key string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.ended[key] = true
	r.changed.Broadcast()
}

// write records a write to the API server.
func (r *groupRun) write(action clienttesting.Action) (bool, runtime.Object, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	defer r.changed.Broadcast()
	if action.GetResource().Resource == "resourceclaims" {
		return r.writeClaim(action)
	}
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		if binding, ok := action.GetObject().(*v1.Binding); ok {
			key := binding.Namespace + "/" + binding.Name
			r.result.Bound = append(r.result.Bound, key+" "+binding.Target.Name)
			r.writtenTo("Pod " + key).node = binding.Target.Name
			return true, &v1.Binding{}, nil
		}
	case clienttesting.PatchActionImpl:
		kind, object := "Pod ", runtime.Object(&v1.Pod{})
		if action.GetResource().Resource == "podgroups" {
			kind, object = "PodGroup ", &schedulingv1beta1.PodGroup{}
		}
		if r.result.Patches == nil {
			r.result.Patches = make(map[string][]json.RawMessage)
		}
		key := kind + action.GetNamespace() + "/" + action.GetName()
		if kind == "PodGroup " {
			setsBack, err := r.setsGroupBack(key, action.GetPatch())
			if setsBack || err != nil {
				return true, object, err
			}
		}
		r.result.Patches[key] = append(r.result.Patches[key], action.GetPatch())
		if err := r.deliverNomination(key, action.GetPatch()); err != nil {
			return true, nil, err
		}
		state := r.writtenTo(key)
		state.patches = append(state.patches, action.GetPatch())
		return true, object, nil
	case clienttesting.DeleteActionImpl:
		key := action.GetNamespace() + "/" + action.GetName()
		r.result.Deleted = append(r.result.Deleted, key)
		r.writtenTo("Pod " + key).deleted = true
		return true, nil, nil
	}
	// No controller would bind volumes.
	return true, nil, errors.New("the test refuses the write")
}

// setsGroupBack reports whether a patch sets the condition of a group to False after an earlier one of the step has set
// it to True. kube-scheduler does not do that if the watch has delivered the condition before it tries the other members
// again, which is a race that it mostly wins; here the watch is silent during a step. Berth never does it.
func (r *groupRun) setsGroupBack(key string, patch []byte) (bool, error) {
	status, err := groupCondition(patch)
	if err != nil || status == metav1.ConditionTrue {
		return false, err
	}
	for _, earlier := range r.writtenTo(key).patches {
		if status, err = groupCondition(earlier); err != nil || status == metav1.ConditionTrue {
			return err == nil, err
		}
	}
	return false, nil
}

// groupCondition is the status that a patch of a group sets; empty: that of the version which the watch has delivered.
func groupCondition(patch []byte) (metav1.ConditionStatus, error) {
	var group schedulingv1beta1.PodGroup
	if err := json.Unmarshal(patch, &group); err != nil {
		return "", err
	}
	for _, condition := range group.Status.Conditions {
		if condition.Type == schedulingv1beta1.PodGroupInitiallyScheduled {
			return condition.Status, nil
		}
	}
	return "", nil
}

// deliverNomination lets the watch report a nomination before a binding at once, because the end of a failed binding
// depends on it.
func (r *groupRun) deliverNomination(key string, patch []byte) error {
	before, isPod := r.current[key].(*v1.Pod)
	var status struct {
		Status struct {
			Conditions        array
			NominatedNodeName string
		}
	}
	if err := json.Unmarshal(patch, &status); err != nil {
		return err
	}
	if !isPod || status.Status.Conditions != nil || status.Status.NominatedNodeName == "" {
		return nil
	}
	after := before.DeepCopy()
	after.Status.NominatedNodeName = status.Status.NominatedNodeName
	r.versions++
	after.ResourceVersion = fmt.Sprint(2_000_000 + r.versions)
	r.current[key] = after
	return handlers.Deliver(r.scheduler, r.factory, before, after)
}

func (r *groupRun) writtenTo(key string) *writtenState {
	if r.written[key] == nil {
		r.written[key] = new(writtenState)
	}
	return r.written[key]
}

// step executes a step and returns its result.
func (r *groupRun) step(s *groupStep) (*groupResult, error) {
	r.result = groupResult{}
	q := r.scheduler.SchedulingQueue.(*queue.PriorityQueue)
	if s.Advance > 0 {
		r.clock.Step(time.Duration(s.Advance) * time.Millisecond)
		handlers.FlushBackoff(q, logr.Discard())
	}
	if s.Deliver {
		if err := r.deliver(); err != nil {
			return nil, err
		}
	}
	for _, c := range s.Changes {
		if err := r.change(c); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.Kind, c.Key, err)
		}
	}
	for range mostCycles {
		if !r.canPop(q) {
			break
		}
		if err := r.cycle(); err != nil {
			return nil, err
		}
	}
	r.look(q)
	return &r.result, nil
}

// canPop returns whether a pop would return an entry: there is one in activeQ, or a rejected pod in backoffQ.
func (r *groupRun) canPop(q *queue.PriorityQueue) bool {
	if len(q.PodsInActiveQ()) > 0 {
		return true
	}
	return slices.ContainsFunc(q.PodsInBackoffQ(), func(pod *v1.Pod) bool {
		info, ok := q.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
		return ok && pod.Spec.SchedulingGroup == nil && info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0
	})
}

// cycle runs one cycle and waits for the end of its bindings and evictions.
func (r *groupRun) cycle() error {
	r.evict = make(chan struct{})
	if err := r.schedule(); err != nil {
		return err
	}
	if err := r.finishPreemption(); err != nil {
		return err
	}
	return r.deliverClaims()
}

func (r *groupRun) schedule() error {
	clear(r.ended)
	// A new snapshot: an existing one keeps, for nodes that have not changed, the number of nodes that had an image at
	// the last change.
	*r.view = *internalcache.NewEmptySnapshot()
	// Entries with equal times would be scheduled in any order.
	r.clock.Step(time.Millisecond)
	r.lock.Lock()
	r.scheduled = make(chan struct{})
	r.lock.Unlock()
	r.scheduler.ScheduleOne(r.ctx)
	close(r.scheduled)
	var pods []*framework.QueuedPodInfo
	switch entity := r.entity.(type) {
	case *framework.QueuedPodGroupInfo:
		entity.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
			pods = append(pods, info)
			return true
		})
		r.cycles["groups"]++
	case *framework.QueuedPodInfo:
		pods = append(pods, entity)
		r.cycles["pods"]++
	}
	timer := time.AfterFunc(20*time.Second, r.changed.Broadcast)
	defer timer.Stop()
	started := time.Now()
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, info := range pods {
		key := podKey(info.Pod)
		for !r.ended[key] && !r.waits(info.Pod) && (info.Pod.DeletionTimestamp == nil || r.entity != info) {
			if time.Since(started) > 19*time.Second {
				return fmt.Errorf("the attempt of pod %s does not end", key)
			}
			r.changed.Wait()
		}
	}
	return nil
}

func (r *groupRun) awaitScheduled() {
	r.lock.Lock()
	scheduled := r.scheduled
	r.lock.Unlock()
	<-scheduled
}

// waits returns whether the pod waits for Permit.
func (r *groupRun) waits(pod *v1.Pod) bool {
	waiting := r.scheduler.Profiles[pod.Spec.SchedulerName].GetWaitingPod(pod.UID)
	return waiting != nil && len(waiting.GetPendingPlugins()) > 0 && len(r.result.Patches["Pod "+podKey(pod)]) > 0
}

// look records what waits for Permit and in the queue.
func (r *groupRun) look(q *queue.PriorityQueue) {
	slices.Sort(r.result.Bound)
	slices.Sort(r.result.Deleted)
	for _, profile := range r.scheduler.Profiles {
		profile.IterateOverWaitingPods(func(pod fwk.WaitingPod) {
			r.result.Waiting = append(r.result.Waiting, podKey(pod.GetPod())+" "+pod.GetPod().Spec.NodeName)
		})
	}
	slices.Sort(r.result.Waiting)
	places := make(map[string]string)
	for place, pods := range map[string][]*v1.Pod{
		"active": q.PodsInActiveQ(), "backoff": q.PodsInBackoffQ(), "unschedulable": q.UnschedulablePods(), "incomplete": q.IncompletePodGroupPodsPods(),
	} {
		for _, pod := range pods {
			place := place
			info, known := q.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
			if pod.Spec.SchedulingGroup != nil && place != "incomplete" {
				name, kind := r.rootOf(pod)
				if group, known := q.GetPodGroup(name, pod.Namespace, kind); known && group.Gated() {
					place = "gated"
				}
			} else if known && place == "unschedulable" && info.Gated() {
				place = "gated"
			}
			places[podKey(pod)] = place
		}
	}
	r.result.Queue = places
}

// rootOf returns the name and the kind of the root of the tree to which the pod's group belongs.
func (r *groupRun) rootOf(pod *v1.Pod) (string, fwk.EntityKeyType) {
	name, kind := *pod.Spec.SchedulingGroup.PodGroupName, fwk.PodGroupKeyType
	group, ok := r.current["PodGroup "+pod.Namespace+"/"+name].(*schedulingv1beta1.PodGroup)
	if !ok || group.Spec.ParentCompositePodGroupName == nil || !utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) {
		return name, kind
	}
	for parent := group.Spec.ParentCompositePodGroupName; parent != nil; {
		name, kind = *parent, fwk.CompositePodGroupKeyType
		composite, ok := r.current["CompositePodGroup "+pod.Namespace+"/"+name].(*schedulingv1alpha3.CompositePodGroup)
		if !ok {
			break
		}
		parent = composite.Spec.ParentCompositePodGroupName
	}
	return name, kind
}

// change applies a change as the watch delivers it. No two changes have the same time.
func (r *groupRun) change(c change) error {
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
	}
	delete(r.written, c.Kind+" "+c.Key)
	if after == nil && r.current[c.Kind+" "+c.Key] == nil {
		return nil // evicted
	}
	if pod, ok := r.current[c.Kind+" "+c.Key].(*v1.Pod); ok && after != nil && pod.Spec.NodeName != "" && after.(*v1.Pod).Spec.NodeName == "" {
		return nil // bound by the scheduler, which the scenario does not know
	}
	return r.apply(c.Kind+" "+c.Key, after)
}

func (r *groupRun) apply(key string, after runtime.Object) error {
	r.clock.Step(time.Millisecond)
	before := r.current[key]
	if after == nil {
		delete(r.current, key)
	} else {
		r.current[key] = after
	}
	if err := handlers.Deliver(r.scheduler, r.factory, before, after); err != nil {
		return err
	}
	// The cache of claims publishes their events.
	if kind, _, _ := strings.Cut(key, " "); kind != "ResourceClaim" {
		r.requeue(kind, before, after)
	}
	return nil
}

// requeue publishes the event of a kind that only plugins observe.
func (r *groupRun) requeue(kind string, before, after runtime.Object) {
	if _, ok := eventResources[kind]; !ok {
		return
	}
	for _, event := range eventsOf(kind, before, after, false) {
		r.scheduler.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logr.Discard(), event, before, after, nil)
	}
}

// deliver lets the watch report the objects that the scheduler has written: pods by key, then groups by key.
func (r *groupRun) deliver() error {
	written := r.written
	r.written = make(map[string]*writtenState)
	for _, kind := range []string{"Pod ", "PodGroup "} {
		for _, key := range slices.Sorted(maps.Keys(written)) {
			before := r.current[key]
			if !strings.HasPrefix(key, kind) || before == nil {
				continue
			}
			if pod, ok := before.(*v1.Pod); ok && pod.DeletionTimestamp != nil && written[key].deleted {
				if err := r.apply(key, nil); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				continue
			}
			after, err := written[key].merge(before)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			if written[key].deleted {
				after.(*v1.Pod).DeletionTimestamp = &metav1.Time{Time: startOfTime}
				r.written[key] = &writtenState{deleted: true}
			}
			r.versions++
			m, err := apimeta.Accessor(after)
			if err != nil {
				return err
			}
			m.SetResourceVersion(fmt.Sprint(2_000_000 + r.versions))
			if err := r.apply(key, after); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

// merge returns the object after the writes, as the API server does.
func (w *writtenState) merge(before runtime.Object) (runtime.Object, error) {
	text, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	after := before.DeepCopyObject()
	for _, patch := range w.patches {
		if text, err = strategicpatch.StrategicMergePatch(text, patch, before); err != nil {
			return nil, err
		}
	}
	switch after := after.(type) {
	case *v1.Pod:
		*after = v1.Pod{}
	case *schedulingv1beta1.PodGroup:
		*after = schedulingv1beta1.PodGroup{}
	}
	if err := json.Unmarshal(text, after); err != nil {
		return nil, err
	}
	if pod, ok := after.(*v1.Pod); ok && w.node != "" {
		pod.Spec.NodeName = w.node
	}
	return after, nil
}

// compare runs the scenario on both sides and returns the first difference; empty: there is none. The results are stored
// in the steps.
func (s *groupScenario) compare(ctx context.Context, r *replayer, visit func(*groupResult)) (difference string, cycles map[string]int, err error) {
	results, problem, err := s.ask(r)
	if err != nil || problem != "" {
		return problem, nil, err
	}
	return s.run(ctx, results, visit)
}

// ask returns Berth's results, or the error that the replay program has reported.
func (s *groupScenario) ask(r *replayer) (results []string, problem string, err error) {
	answer, err := r.ask(s)
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal([]byte(answer), &results); err != nil {
		return nil, answer, nil
	}
	return results, "", nil
}

// run compares Berth's results with those of kube-scheduler.
func (s *groupScenario) run(ctx context.Context, results []string, visit func(*groupResult)) (difference string, cycles map[string]int, err error) {
	// Batching prefers, among equal nodes, one at random; with it a decision is one of those without.
	restore, err := setGates(s.Gates + ",OpportunisticBatching=false")
	if err != nil {
		return "", nil, err
	}
	defer restore()
	run, err := newGroupRun(ctx, s)
	if err != nil {
		return "", nil, err
	}
	defer run.close()
	if len(results) != len(s.Steps) {
		return fmt.Sprintf("%d results of %d steps", len(results), len(s.Steps)), run.cycles, nil
	}
	for i := range len(s.Steps) {
		step := &s.Steps[i]
		result, err := run.step(step)
		if err != nil {
			return "", run.cycles, fmt.Errorf("step %d: %w", i, err)
		}
		if visit != nil {
			visit(result)
		}
		text, err := json.Marshal(result)
		if err != nil {
			return "", run.cycles, err
		}
		want, err := comparable(text)
		if err != nil {
			return "", run.cycles, err
		}
		got, err := comparable([]byte(results[i]))
		if err != nil {
			return fmt.Sprintf("step %d: %v: %s", i, err, results[i]), run.cycles, nil
		}
		if want != got {
			return fmt.Sprintf("step %d: %s", i, firstDifference(want, got)), run.cycles, nil
		}
		step.Result = results[i]
	}
	return "", run.cycles, nil
}

// comparable is a result without times.
func comparable(result []byte) (string, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(normal(value))
	return out.String(), err
}

// noteLimit is below the length at which kube-scheduler cuts the notes of events.
const noteLimit = 900

func normal(value any) any {
	switch value := value.(type) {
	case object:
		delete(value, "lastTransitionTime")
		for key, part := range value {
			value[key] = normal(part)
			if key == "events" {
				for _, notes := range value[key].(object) {
					for i, note := range notes.(array) {
						notes.(array)[i] = note.(string)[:min(len(note.(string)), noteLimit)]
					}
				}
			}
		}
	case array:
		for i := range value {
			value[i] = normal(value[i])
		}
	case string:
		return sortPair(sortDomains(value))
	}
	return value
}

// sortDomains sorts the domains at the end of a message. kube-scheduler lists them in the order of a map.
func sortDomains(message string) string {
	const before = "more than 1 domain found for pod group: "
	text, list, found := strings.Cut(message, before)
	if !found {
		return message
	}
	domains := strings.Split(list, ", ")
	slices.Sort(domains)
	return text + before + strings.Join(domains, ", ")
}

// sortPair sorts the two values of pods or groups that must be equal. kube-scheduler compares in the order of a map.
func sortPair(message string) string {
	text, list, found := strings.Cut(message, " should have the same ")
	kind, pair, got := strings.Cut(list, ", got ")
	first, second, both := strings.Cut(pair, " and ")
	if !found || !got || !both || first <= second {
		return message
	}
	return text + " should have the same " + kind + ", got " + second + " and " + first
}

// firstDifference returns the lines around the first difference of two texts.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	context := strings.Join(a[max(0, i-3):i], "\n  ")
	return fmt.Sprintf("\n  %s\n  real  %s\n  berth %s", context, strings.Join(a[i:min(len(a), i+4)], "\n        "),
		strings.Join(b[i:min(len(b), i+4)], "\n        "))
}
