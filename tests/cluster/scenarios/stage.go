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

// scenario is a story that is played once for each scheduler.
type scenario struct {
	name string
	run  func(s *stage)
	// anyNode says that several nodes are equally good; where pods end up is not compared then.
	anyNode bool
	// differs is set where the outcomes are meant to differ.
	differs *difference
	// uncounted says that the number of requests depends on the run.
	uncounted bool
	// seconds is about how long it takes, if that is long.
	seconds int
}

// difference is one that docs/differences.md lists. The lines that only one of the two has begin like these, and
// each of these is found.
type difference struct {
	why                      string
	onlyReference, onlyBerth []string
}

// patience is how long a step may take.
const patience = 30 * time.Second

// stage is where a scenario is played: a namespace of its own, and all nodes. What goes wrong in a step ends
// the scenario by a panic with a failure.
type stage struct {
	ctx    context.Context
	lane   *lane
	client kubernetes.Interface
	ns     string

	mutex sync.Mutex
	pods  []*podStory // in the order in which they appeared
	told  []string
}

// podStory is what the watch told of one pod. A pod that is created again is another one.
type podStory struct {
	label       string
	uid         types.UID
	latest      *v1.Pod
	gone        bool
	node        string
	conditions  []string
	disruptions []string // what the condition DisruptionTarget said
	nominations []string
}

type failure struct{ error }

func (s *stage) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// play puts one scenario on a stage and tidies up after it.
func (l *lane) play(ctx context.Context, sc *scenario, namespace string) (result *outcome) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s := &stage{ctx: ctx, lane: l, client: l.control.Client, ns: namespace}
	result = new(outcome)
	started := time.Now()
	defer func() {
		problem := recover()
		if failed, ok := problem.(failure); ok {
			result.err = failed.error
		} else if problem != nil {
			panic(problem)
		}
		result.seconds = time.Since(started).Seconds()
		if err := s.tidy(); err != nil && result.err == nil {
			result.err = fmt.Errorf("tidying up: %w", err)
		}
	}()
	_, err := s.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	s.must(err)
	list, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	s.must(err)
	watcher, err := s.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	defer watcher.Stop()
	go s.listen(watcher)
	sc.run(s)
	s.rest()
	s.collect(result)
	return result
}

// rest waits until the scheduler has nothing to write any more.
func (s *stage) rest() {
	s.calm(300 * time.Millisecond)
	s.until("the scheduler falls silent", func() bool { return s.lane.proxy.silentFor() > 400*time.Millisecond })
}

// tidy removes pods, nodes and what there is of storage, and lets the scheduler notice.
func (s *stage) tidy() error {
	if unused := s.lane.proxy.forget(); unused > 0 {
		return fmt.Errorf("%d requests that were to be intercepted never came", unused)
	}
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

// listen writes down what happens to the pods.
func (s *stage) listen(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		if pod, ok := event.Object.(*v1.Pod); ok {
			s.mutex.Lock()
			s.storyOf(pod).take(event.Type, pod)
			s.mutex.Unlock()
		}
	}
}

func (s *stage) storyOf(pod *v1.Pod) *podStory {
	number := 1
	for _, story := range s.pods {
		if story.uid == pod.UID {
			return story
		}
		if story.latest.Name == pod.Name {
			number++
		}
	}
	label := pod.Name
	if number > 1 {
		label += fmt.Sprintf(" (number %d)", number)
	}
	story := &podStory{label: label, uid: pod.UID}
	s.pods = append(s.pods, story)
	return story
}

func (p *podStory) take(kind watch.EventType, pod *v1.Pod) {
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

// appendNew leaves out what was the last already.
func appendNew(list []string, text string) []string {
	if len(list) > 0 && list[len(list)-1] == text {
		return list
	}
	return append(list, text)
}

// story is that of the latest pod of this name.
func (s *stage) story(name string) podStory {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, story := range slices.Backward(s.pods) {
		if story.latest.Name == name {
			return *story
		}
	}
	return podStory{}
}

// --- waiting ---

func (s *stage) until(what string, holds func() bool) {
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			panic(failure{errors.New("in vain: " + what)})
		}
		s.calm(10 * time.Millisecond)
	}
}

// calm lets some time go by.
func (s *stage) calm(d time.Duration) { s.must(controlplane.Pause(s.ctx, d)) }

// bound waits until all these pods have a node.
func (s *stage) bound(names ...string) {
	for _, name := range names {
		s.until("pod "+name+" is bound", func() bool { return s.story(name).node != "" })
	}
}

// refused waits until a pod's condition says so, with these words.
func (s *stage) refused(name, words string) {
	s.until(fmt.Sprintf("pod %s is refused with %q", name, words), func() bool {
		conditions := s.story(name).conditions
		return len(conditions) > 0 && strings.HasPrefix(conditions[len(conditions)-1], "False") && strings.Contains(conditions[len(conditions)-1], words)
	})
}

// attempted waits until there were so many attempts to place a pod.
func (s *stage) attempted(name string, times int) {
	s.until(fmt.Sprintf("attempt %d at pod %s", times, name), func() bool { return s.attempts(name) >= times })
}

func (s *stage) attempts(name string) int { return len(s.lane.attempts(s.ns + "/" + name)) }

// tell adds something to the outcome that must be the same for both schedulers.
func (s *stage) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// tellAttempts says that the number of attempts must be the same.
func (s *stage) tellAttempts(name string) { s.tell("attempts at %s: %d", name, s.attempts(name)) }

// expectAttempts says how many attempts there must have been.
func (s *stage) expectAttempts(name string, times int) {
	if found := s.attempts(name); found != times {
		panic(failure{fmt.Errorf("%d attempts at %s, not %d", found, name, times)})
	}
}

// occupants counts the pods on each node.
func (s *stage) occupants() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := make(map[string]int)
	for _, story := range s.pods {
		if story.node != "" && !story.gone {
			count[story.node]++
		}
	}
	return count
}

// attemptOrder are the names of the pods in the order of their last attempts.
func (s *stage) attemptOrder() []string {
	last := make(map[string]time.Time)
	s.mutex.Lock()
	for _, story := range s.pods {
		last[story.latest.Name] = time.Time{}
	}
	s.mutex.Unlock()
	for name := range last {
		for _, at := range s.lane.attempts(s.ns + "/" + name) {
			last[name] = at
		}
	}
	return slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a].Compare(last[b]) })
}
