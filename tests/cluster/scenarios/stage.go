package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// scenario is run once per scheduler.
type scenario struct {
	name string
	run  func(s *stage)
	// anyNode: several nodes have equal scores, so placements are not compared.
	anyNode bool
	// anyNomination: nominations are not compared. Whether one is removed and set again between two attempts
	// depends on when the watch delivers the pod. Whether kube-scheduler writes one for a member of a gang
	// depends on whether the member's binding begins before the last member ends its wait.
	anyNomination bool
	// finalClaims: a controller changes claims at the same time as the scheduler, so only the last state of each
	// claim is compared.
	finalClaims bool
	// differs is set if the outcomes are expected to differ.
	differs *difference
	// uncounted: the number of requests varies between runs.
	uncounted bool
	// decisionsOnly: messages are not compared.
	decisionsOnly bool
	// needs are parts of Kubernetes without which a release cannot play it.
	needs []requirement
	// seconds is the approximate duration of a long scenario.
	seconds int
}

// difference is listed in docs/differences.md. The lines that only one of the two outcomes has must begin
// with these prefixes, and each prefix must occur.
type difference struct {
	why                      string
	onlyReference, onlyBerth []string
}

// stepTimeout is the timeout of a step.
const stepTimeout = 30 * time.Second

// stage is the environment of a scenario: its own namespace, and all nodes. A failing step ends the scenario
// with a panic.
type stage struct {
	ctx    context.Context
	lane   *lane
	client kubernetes.Interface
	ns     string

	mutex  sync.Mutex
	pods   []*podHistory // in the order of their appearance
	claims []*claimHistory
	groups map[types.UID]string // names
	lines  []string
}

// podHistory is the watch history of one pod. A pod that is created again has a new one.
type podHistory struct {
	label       string
	uid         types.UID
	latest      *v1.Pod
	gone        bool
	node        string
	conditions  []string
	disruptions []string // messages of the condition DisruptionTarget
	nominations []string
}

func (s *stage) must(err error) { controlplane.Must(err) }

// play runs one scenario and removes its objects.
func (l *lane) play(ctx context.Context, sc *scenario, namespace string) (result *outcome) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s := &stage{ctx: ctx, lane: l, client: l.control.Client, ns: namespace}
	result = new(outcome)
	started := time.Now()
	result.err = controlplane.Played(func() { s.run(sc, result) })
	result.seconds = time.Since(started).Seconds()
	if err := s.tidy(); err != nil && result.err == nil {
		result.err = fmt.Errorf("tidying up: %w", err)
	}
	return result
}

func (s *stage) run(sc *scenario, result *outcome) {
	_, err := s.client.CoreV1().Namespaces().Create(s.ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, metav1.CreateOptions{})
	s.must(err)
	list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	watcher, err := s.client.CoreV1().Pods(s.ns).Watch(s.ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	defer watcher.Stop()
	go s.listen(watcher)
	defer s.watchClaims()()
	sc.run(s)
	s.rest()
	s.collect(sc, result)
}

// rest waits until the scheduler has written everything.
func (s *stage) rest() {
	s.pause(300 * time.Millisecond)
	s.until("the scheduler sends no more writes", func() bool { return s.lane.proxy.silentFor() > 400*time.Millisecond })
}

// tidy removes pods, nodes and storage objects, and waits until the scheduler has processed the removal.
func (s *stage) tidy() error {
	unused := s.lane.proxy.forget()
	if err := s.removeObjects(); err != nil {
		return err
	}
	if unused > 0 {
		return fmt.Errorf("%d requests to intercept were not sent", unused)
	}
	return nil
}

func (s *stage) removeObjects() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	for {
		pods, err := s.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		rest, err := s.tidyRest(ctx)
		if err != nil {
			return err
		}
		if len(pods.Items) == 0 && len(nodes.Items) == 0 && rest == 0 {
			return controlplane.Pause(ctx, 200*time.Millisecond)
		}
		for _, pod := range pods.Items {
			if len(pod.Finalizers) > 0 {
				_, err := s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
			if err := s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		for _, node := range nodes.Items {
			if err := s.client.CoreV1().Nodes().Delete(ctx, node.Name, now); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
}

// listen records the changes of the pods.
func (s *stage) listen(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		if pod, ok := event.Object.(*v1.Pod); ok {
			s.mutex.Lock()
			s.historyOf(pod).take(event.Type, pod)
			s.mutex.Unlock()
		}
	}
}

func (s *stage) historyOf(pod *v1.Pod) *podHistory {
	number := 1
	for _, history := range s.pods {
		if history.uid == pod.UID {
			return history
		}
		if history.latest.Name == pod.Name {
			number++
		}
	}
	label := pod.Name
	if number > 1 {
		label += fmt.Sprintf(" (number %d)", number)
	}
	history := &podHistory{label: label, uid: pod.UID}
	s.pods = append(s.pods, history)
	return history
}

func (p *podHistory) take(kind watch.EventType, pod *v1.Pod) {
	p.latest, p.gone, p.node = pod, kind == watch.Deleted, pod.Spec.NodeName
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			p.conditions = appendNew(p.conditions, fmt.Sprintf("%s %q of generation %d: %s", c.Status, c.Reason, c.ObservedGeneration, c.Message))
		}
		if c.Type == v1.DisruptionTarget {
			p.disruptions = appendNew(p.disruptions, fmt.Sprintf("%s %q of generation %d: %s", c.Status, c.Reason, c.ObservedGeneration, c.Message))
		}
	}
	if nominated := pod.Status.NominatedNodeName; nominated != "" || len(p.nominations) > 0 {
		p.nominations = appendNew(p.nominations, fmt.Sprintf("%q", nominated))
	}
}

// appendNew omits repetitions of the last entry.
func appendNew(list []string, text string) []string {
	if len(list) > 0 && list[len(list)-1] == text {
		return list
	}
	return append(list, text)
}

// history returns the history of the latest pod of this name.
func (s *stage) history(name string) podHistory {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, history := range slices.Backward(s.pods) {
		if history.latest.Name == name {
			return *history
		}
	}
	return podHistory{}
}

// --- waiting ---

func (s *stage) until(what string, holds func() bool) {
	deadline := time.Now().Add(stepTimeout)
	for !holds() {
		if time.Now().After(deadline) {
			controlplane.Must(errors.New("timeout: " + what))
		}
		s.pause(10 * time.Millisecond)
	}
}

// pause waits for some time.
func (s *stage) pause(d time.Duration) { s.must(controlplane.Pause(s.ctx, d)) }

// bound waits until all these pods are bound.
func (s *stage) bound(names ...string) {
	for _, name := range names {
		s.until("pod "+name+" is bound", func() bool { return s.history(name).node != "" })
	}
}

// refused waits until a pod's condition has this message.
func (s *stage) refused(name, words string) {
	s.until(fmt.Sprintf("pod %s is rejected with %q", name, words), func() bool {
		conditions := s.history(name).conditions
		return len(conditions) > 0 && strings.HasPrefix(conditions[len(conditions)-1], "False") && strings.Contains(conditions[len(conditions)-1], words)
	})
}

// attempted waits for this number of scheduling attempts of a pod.
func (s *stage) attempted(name string, times int) {
	s.until(fmt.Sprintf("attempt %d at pod %s", times, name), func() bool { return s.attempts(name) >= times })
}

func (s *stage) attempts(name string) int { return len(s.lane.attempts(s.ns + "/" + name)) }

// report adds a line to the outcome that must be equal for both schedulers.
func (s *stage) report(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// reportAttempts requires the same number of attempts for both schedulers.
func (s *stage) reportAttempts(name string) { s.report("attempts at %s: %d", name, s.attempts(name)) }

// expectAttempts requires this number of attempts. With an older release than Berth follows it only reports the number, which
// must be equal for both schedulers.
func (s *stage) expectAttempts(name string, times int) {
	if !s.lane.release.Pinned() {
		s.reportAttempts(name)
		return
	}
	if found := s.attempts(name); found != times {
		controlplane.Must(fmt.Errorf("%d attempts at %s, not %d", found, name, times))
	}
}

// occupants counts the pods on each node.
func (s *stage) occupants() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := make(map[string]int)
	for _, history := range s.pods {
		if history.node != "" && !history.gone {
			count[history.node]++
		}
	}
	return count
}

// attemptOrder returns the names of the pods in the order of their last attempts.
func (s *stage) attemptOrder() []string {
	last := make(map[string]time.Time)
	s.mutex.Lock()
	for _, history := range s.pods {
		last[history.latest.Name] = time.Time{}
	}
	s.mutex.Unlock()
	for name := range last {
		for _, at := range s.lane.attempts(s.ns + "/" + name) {
			last[name] = at
		}
	}
	return slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a].Compare(last[b]) })
}
