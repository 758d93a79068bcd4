package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"

	"berth.test/handlers"
)

var profiles = []string{"default-scheduler", "second"}

// environment is the real queue with its clock, API objects and attempts in progress.
type environment struct {
	clock            *testingclock.FakeClock
	queue            *queue.PriorityQueue
	recorder         *metrics.MetricAsyncRecorder
	pods             cache.Indexer
	objects          map[string]podObject                // by UID: pods without a node, as stored by the API server
	infos            map[string]*framework.QueuedPodInfo // by UID: in the queue, or held
	held             map[string]*framework.QueuedPodInfo // by UID: popped
	groups           map[string]groupObject              // by name: as stored by the API server
	composites       map[string]groupObject              // the same for composite groups
	attempted        *framework.QueuedPodGroupInfo       // the group that was popped last, until its attempt ends
	backoffDue       time.Time
	unschedulableDue time.Time
	state            map[string]string
	plugins          []plugin
	logger           klog.Logger
	rejectedMetric   map[[2]string]gaugeMetric
}

var noInformers = informers.NewSharedInformerFactory(nil, 0)

func newEnvironment(o options, plugins []plugin) *environment {
	start := time.UnixMilli(o.Start)
	w := &environment{
		clock:            testingclock.NewFakeClock(start),
		recorder:         newRecorder(),
		pods:             cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		objects:          make(map[string]podObject),
		infos:            make(map[string]*framework.QueuedPodInfo),
		held:             make(map[string]*framework.QueuedPodInfo),
		groups:           make(map[string]groupObject),
		composites:       make(map[string]groupObject),
		backoffDue:       start.Truncate(time.Second).Add(time.Second),
		unschedulableDue: start.Add(30 * time.Second),
		state:            make(map[string]string),
		plugins:          plugins,
		logger:           klog.Background(),
	}
	w.resetMetrics()
	sort := &queuesort.PrioritySort{}
	w.queue = queue.NewPriorityQueue(sort.Less, noInformers,
		queue.WithClock(w.clock),
		queue.WithPodInitialBackoffDuration(time.Duration(o.InitialBackoff)*time.Millisecond),
		queue.WithPodMaxBackoffDuration(time.Duration(o.MaxBackoff)*time.Millisecond),
		queue.WithPodMaxInUnschedulablePodsDuration(time.Duration(o.MaxInUnschedulable)*time.Millisecond),
		queue.WithPodLister(listersv1.NewPodLister(w.pods)),
		queue.WithMetricsRecorder(w.recorder),
		queue.WithPreEnqueuePluginMap(w.preEnqueue(plugins)),
		queue.WithQueueingHintMapPerProfile(hintMap(plugins)))
	return w
}

func (w *environment) now() int64 { return w.clock.Now().UnixMilli() }

// advance moves the clock, and stops at each time at which a timer of the queue fires.
func (w *environment) advance(by time.Duration) {
	target := w.clock.Now().Add(by)
	for {
		due := w.backoffDue
		if w.unschedulableDue.Before(due) {
			due = w.unschedulableDue
		}
		if due.After(target) {
			break
		}
		w.clock.SetTime(due)
		if w.backoffDue.Equal(due) {
			w.backoffDue = due.Add(time.Second)
			handlers.FlushBackoff(w.queue, w.logger)
		}
		if w.unschedulableDue.Equal(due) {
			w.unschedulableDue = due.Add(30 * time.Second)
			handlers.FlushUnschedulable(w.queue, w.logger)
		}
	}
	w.clock.SetTime(target)
}

// apply executes an operation. It returns false, and nothing has happened, if the operation is not applicable, for
// example in a reduced sequence.
func (w *environment) apply(op operation) (step, bool) {
	done := step{operation: op}
	if !w.applicable(op) {
		return done, false
	}
	// No two time stamps are equal: the order of equal ones is undefined in the original.
	w.advance(time.Millisecond)
	ctx := context.Background()
	switch op.Kind {
	case "add":
		w.objects[op.Object.UID] = *op.Object
		pod := op.Object.pod()
		w.pods.Add(pod)
		w.queue.Add(ctx, pod)
	case "update":
		before, after := w.podOf(op.Object.UID), op.Object.pod()
		w.objects[op.Object.UID] = *op.Object
		w.pods.Update(after)
		w.queue.Update(ctx, before, after)
	case "delete":
		pod := w.podOf(op.Pod)
		delete(w.objects, op.Pod)
		w.pods.Delete(pod)
		w.queue.Delete(w.logger, pod)
	case "pop":
		done.Popped = w.pop()
	case "done":
		w.queue.Done(types.UID(op.Pod))
	case "drop":
		w.queue.Done(types.UID(op.Pod))
		delete(w.held, op.Pod)
	case "requeue":
		w.requeue(op)
	case "nominate":
		w.queue.AddNominatedPod(w.logger, w.held[op.Pod].PodInfo, override(op.Nominate))
	case "place":
		w.queue.DeleteNominatedPodIfExists(w.held[op.Pod].Pod)
	case "bind":
		w.bind(op.Pod)
	case "event":
		w.move(*op.Event)
	case "activate":
		pods := make(map[string]*v1.Pod)
		for _, uid := range op.Pods {
			pods["default/"+nameOf(uid)] = w.anyPod(uid)
		}
		// One call per pod: the queue goes through the pods of a call in the random order of the map, which matters for
		// members of one group.
		for _, uid := range op.Pods {
			name := "default/" + nameOf(uid)
			if pod := pods[name]; pod != nil {
				w.queue.Activate(w.logger, map[string]*v1.Pod{name: pod})
				delete(pods, name)
			}
		}
	case "step":
		w.advance(time.Duration(op.Millis) * time.Millisecond)
	case "end":
		w.end(op)
	case "group-add":
		w.groups[op.Group.Name] = *op.Group
		w.queue.AddPodGroup(w.logger, op.Group.object())
	case "group-update":
		w.groups[op.Group.Name] = *op.Group
		w.queue.UpdatePodGroup(w.logger, op.Group.object())
	case "group-delete":
		group := w.groups[op.Name]
		delete(w.groups, op.Name)
		w.queue.DeletePodGroup(w.logger, group.object())
	case "composite-add":
		w.composites[op.Group.Name] = *op.Group
		w.queue.AddCompositePodGroup(w.logger, op.Group.composite())
	case "composite-update":
		w.composites[op.Group.Name] = *op.Group
		w.queue.UpdateCompositePodGroup(w.logger, op.Group.composite())
	case "composite-delete":
		group := w.composites[op.Name]
		delete(w.composites, op.Name)
		w.queue.DeleteCompositePodGroup(w.logger, group.composite())
	}
	w.recorder.FlushMetrics()
	done.Set, done.Gone = w.changes()
	return done, true
}

func (w *environment) applicable(op operation) bool {
	_, exists := w.objects[op.Pod]
	held := w.held[op.Pod] != nil
	// kube-scheduler decides a group synchronously.
	if (w.attempted != nil) != (op.Kind == "end") {
		return false
	}
	switch op.Kind {
	case "group-add":
		_, known := w.groups[op.Group.Name]
		return !known && !w.ambiguous(op.Group)
	case "composite-add":
		_, known := w.composites[op.Group.Name]
		return !known && !w.ambiguous(op.Group)
	case "composite-update":
		_, known := w.composites[op.Group.Name]
		return known
	case "composite-delete":
		_, known := w.composites[op.Name]
		return known
	case "group-update":
		_, known := w.groups[op.Group.Name]
		return known
	case "group-delete":
		_, known := w.groups[op.Name]
		return known
	case "add":
		for uid := range w.objects {
			if nameOf(uid) == op.Object.Name {
				return false
			}
		}
		return true
	case "update":
		_, exists = w.objects[op.Object.UID]
		_, known := w.rootOf(op.Object.Group)
		// The original would lose the pod.
		return exists && (op.Object.Group == "" || known || w.queuedOrInFlight(op.Object.UID))
	case "delete":
		return exists && !w.reentersGroup(op.Pod)
	case "done", "drop":
		return held
	case "requeue":
		// The original would put a member into its group twice.
		return held && exists && (w.objects[op.Pod].Group == "" || w.infos[op.Pod] == w.held[op.Pod])
	case "bind":
		return held && exists && !w.reentersGroup(op.Pod)
	case "nominate", "place":
		return held && exists
	}
	return true
}

func (w *environment) queuedOrInFlight(uid string) bool {
	if info := w.infos[uid]; info != nil && info != w.held[uid] {
		return true
	}
	return slices.ContainsFunc(w.queue.InFlightPods(), func(pod *v1.Pod) bool { return string(pod.UID) == uid })
}

// reentersGroup returns whether the removal of the pod, which is not in the queue, would make the original take the
// other members of its group out of the queue and put them back, which counts them as arrivals again.
func (w *environment) reentersGroup(uid string) bool {
	group := w.objects[uid].Group
	if group == "" || w.infos[uid] != w.held[uid] {
		return false
	}
	_, queued := w.entryOf(group)
	return queued
}

// rootOf returns the root of the tree of a group: the group itself without a parent. False: the group or one above it
// does not exist.
func (w *environment) rootOf(name string) (groupObject, bool) {
	group, known := w.groups[name]
	for known && group.Parent != "" {
		group, known = w.composites[group.Parent]
	}
	return group, known
}

// entryOf returns the entry of the queue with the members of a group.
func (w *environment) entryOf(name string) (*framework.QueuedPodGroupInfo, bool) {
	root, known := w.rootOf(name)
	if !known {
		return nil, false
	}
	kind := fwk.PodGroupKeyType
	if root.Composite {
		kind = fwk.CompositePodGroupKeyType
	}
	return w.queue.GetPodGroup(root.Name, "default", kind)
}

// members returns the members of an entry, group by group. The original goes through the groups in random order.
func members(entry *framework.QueuedPodGroupInfo) (all []*framework.QueuedPodInfo) {
	for _, key := range slices.SortedFunc(maps.Keys(entry.QueuedPodInfos), func(a, b fwk.EntityKey) int { return strings.Compare(a.Name, b.Name) }) {
		all = append(all, entry.QueuedPodInfos[key]...)
	}
	return all
}

// ambiguous returns whether the result of adding the group would depend on the order in which its members enter the
// queue, which is random in the original: the first one determines the group's time stamp.
func (w *environment) ambiguous(added *groupObject) bool {
	all := w.groups
	if added.Composite {
		all = w.composites
	}
	all[added.Name] = *added
	defer delete(all, added.Name)
	waiting := make(map[string]int)
	for _, pod := range w.queue.IncompletePodGroupPodsPods() {
		if root, known := w.rootOf(*pod.Spec.SchedulingGroup.PodGroupName); known {
			waiting[root.Name]++
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(waiting)), func(pods int) bool { return pods > 1 })
}

// canPop returns whether a pop would not block: there is a pod in activeQ, or one in backoffQ after a rejection.
func (w *environment) canPop() bool {
	if len(w.queue.PodsInActiveQ()) > 0 {
		return true
	}
	return slices.ContainsFunc(w.queue.PodsInBackoffQ(), func(pod *v1.Pod) bool {
		if pod.Spec.SchedulingGroup != nil {
			return false // groups are not taken early
		}
		info := w.infos[string(pod.UID)]
		return info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0
	})
}

func (w *environment) pop() string {
	if !w.canPop() {
		return ""
	}
	entity, err := w.queue.Pop(w.logger)
	if err != nil {
		panic(err)
	}
	if group, is := entity.(*framework.QueuedPodGroupInfo); is {
		w.attempted = group
		var uids strings.Builder
		for _, info := range members(group) {
			w.held[string(info.Pod.UID)] = info
			uids.WriteString(string(info.Pod.UID) + " ")
		}
		return uids.String()
	}
	info := entity.(*framework.QueuedPodInfo)
	uid := string(info.Pod.UID)
	w.held[uid] = info
	return uid
}

// end does the same as kube-scheduler at the end of a group's cycle: some members are requeued, the others stay in
// flight.
func (w *environment) end(op operation) {
	group := w.attempted
	w.attempted = nil
	group.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
		uid := string(info.Pod.UID)
		if _, exists := w.objects[uid]; slices.Contains(op.Pods, uid) && exists {
			w.requeue(operation{Pod: uid, Rejectors: op.Rejectors, Pending: op.Pending})
		}
		return true
	})
	status := map[string]*fwk.Status{
		"scheduled": nil, "rejected": fwk.NewStatus(fwk.Unschedulable), "error": fwk.NewStatus(fwk.Error),
	}[op.Outcome]
	if err := w.queue.AddAttemptedPodGroupIfNeeded(w.logger, group, w.queue.SchedulingCycle(), status); err != nil {
		panic(err)
	}
}

func (o *groupObject) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: o.Name, Annotations: map[string]string{"revision": strconv.Itoa(o.Revision)}}
}

func (o *groupObject) parent() *string {
	if o.Parent == "" {
		return nil
	}
	return &o.Parent
}

func (o *groupObject) object() *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: o.meta(),
		Spec:       schedulingv1beta1.PodGroupSpec{Priority: &o.Priority, ParentCompositePodGroupName: o.parent()},
	}
}

func (o *groupObject) composite() *schedulingv1alpha3.CompositePodGroup {
	return &schedulingv1alpha3.CompositePodGroup{
		ObjectMeta: o.meta(),
		Spec:       schedulingv1alpha3.CompositePodGroupSpec{Priority: &o.Priority, ParentCompositePodGroupName: o.parent()},
	}
}

// requeue does the same as kube-scheduler's failure handler.
func (w *environment) requeue(op operation) {
	info := w.held[op.Pod]
	delete(w.held, op.Pod)
	info.ClearRejectorPlugins()
	info.UnschedulablePlugins = sets.New[string]()
	info.PendingPlugins = sets.New[string]()
	for _, name := range op.Rejectors {
		if slices.Contains(op.Pending, name) {
			info.PendingPlugins.Insert(name)
		} else {
			info.UnschedulablePlugins.Insert(name)
		}
	}
	info.PodInfo, _ = framework.NewPodInfo(w.podOf(op.Pod))
	// It fails if the pod is already in the queue; the original logs that and continues.
	_ = w.queue.AddUnschedulablePodIfNotPresent(w.logger, info, w.queue.SchedulingCycle())
	w.queue.AddNominatedPod(w.logger, info.PodInfo, override(op.Nominate))
}

func (w *environment) bind(uid string) {
	pod := w.podOf(uid)
	pod.Spec.NodeName = "n1"
	w.queue.Done(types.UID(uid))
	delete(w.objects, uid)
	delete(w.held, uid)
	w.pods.Update(pod)
	w.queue.Delete(w.logger, pod)
	w.queue.MoveAllToActiveOrBackoffQueue(w.logger, framework.EventAssignedPodAdd, nil, pod, nil)
}

func (w *environment) move(e event) {
	var before, after any
	if e.Before != "" {
		before = objectOf(e.Resource, e.Before)
	}
	if e.After != "" {
		after = objectOf(e.Resource, e.After)
	}
	if e.Target != "" {
		after = w.anyPod(e.Target)
	}
	var check queue.PreEnqueueCheck
	if e.UpTo != nil {
		check = func(pod *v1.Pod) bool { return *pod.Spec.Priority <= *e.UpTo }
	}
	w.queue.MoveAllToActiveOrBackoffQueue(w.logger, e.cluster(), before, after, check)
}

func (e event) cluster() fwk.ClusterEvent {
	ce := fwk.ClusterEvent{Resource: fwk.EventResource(e.Resource), ActionType: fwk.ActionType(e.Action)}
	if e.Resource == string(fwk.WildCard) {
		ce.CustomLabel = e.Label
	}
	return ce
}

func override(node *string) *fwk.NominatingInfo {
	if node == nil {
		return nil
	}
	return &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: *node}
}

// nameOf is the name of the pod with a UID: "b3" is the third pod named "b".
func nameOf(uid string) string { return uid[:1] }

func (w *environment) podOf(uid string) *v1.Pod {
	object := w.objects[uid]
	return object.pod()
}

// anyPod also returns pods that do not exist.
func (w *environment) anyPod(uid string) *v1.Pod {
	if _, exists := w.objects[uid]; exists {
		return w.podOf(uid)
	}
	object := podObject{Name: nameOf(uid), UID: uid, Profile: profiles[0]}
	return object.pod()
}

func objectOf(kind, name string) any {
	meta := metav1.ObjectMeta{Name: name}
	switch kind {
	case string(fwk.Node):
		return &v1.Node{ObjectMeta: meta}
	case string(fwk.PersistentVolumeClaim):
		return &v1.PersistentVolumeClaim{ObjectMeta: meta}
	case string(fwk.StorageClass):
		return &storagev1.StorageClass{ObjectMeta: meta}
	case string(fwk.CSINode):
		return &storagev1.CSINode{ObjectMeta: meta}
	case string(fwk.AssignedPod):
		return &v1.Pod{ObjectMeta: meta}
	}
	panic("no such kind here: " + kind)
}

func (o *podObject) pod() *v1.Pod {
	priority := o.Priority
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: o.Name, UID: types.UID(o.UID), Labels: o.Labels,
			Annotations: map[string]string{"revision": strconv.Itoa(o.Revision)},
		},
		Spec: v1.PodSpec{
			SchedulerName: o.Profile, Priority: &priority,
			Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(o.MilliCPU, resource.DecimalSI)}}}},
		},
		Status: v1.PodStatus{NominatedNodeName: o.Nominated},
	}
	if o.Group != "" {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &o.Group}
	}
	for i := range o.Tolerations {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: fmt.Sprintf("t%d", i), Operator: v1.TolerationOpExists})
	}
	for i := range o.Gates {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprintf("g%d", i)})
	}
	for i := range o.Claims {
		name := fmt.Sprintf("c%d", i)
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name})
	}
	return pod
}
