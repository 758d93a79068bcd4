package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

const (
	queueLabel = "kueue.x-k8s.io/queue-name"
	// stepTimeout is for a busy machine: a step takes some seconds.
	stepTimeout = 90 * time.Second
	// quiet is the time in which a pod that must wait would have been bound.
	quiet = 2 * time.Second
)

// stage is a running control plane with Kueue. A failing step ends the scenario with a panic.
type stage struct {
	ctx      context.Context
	control  *controlplane.ControlPlane
	programs []*controlplane.Child // the scheduler and the controller managers
	close    func()                // ends the kubelets
	// brief makes the containers of running pods end at once.
	brief  atomic.Bool
	broken error // a node that was overcommitted; valid after close
	lines  []string
}

func newStage(ctx context.Context, control *controlplane.ControlPlane, programs []*controlplane.Child) *stage {
	s := &stage{ctx: ctx, control: control, programs: programs}
	s.close = controlplane.Every(ctx, 100*time.Millisecond, s.runKubelets)
	return s
}

// runKubelets runs bound pods and removes those that are to be terminated, like a kubelet whose containers start and end at
// once. It records a node whose pods request more than it has.
func (s *stage) runKubelets(ctx context.Context) {
	pods, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	now := int64(0)
	requested := map[string]*resource.Quantity{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" || (ended(&pod) && pod.DeletionTimestamp == nil) {
			continue
		}
		if requested[pod.Spec.NodeName] == nil {
			requested[pod.Spec.NodeName] = &resource.Quantity{}
		}
		if !ended(&pod) {
			requested[pod.Spec.NodeName].Add(*pod.Spec.Containers[0].Resources.Requests.Cpu())
		}
		switch {
		case pod.DeletionTimestamp != nil:
			if !ended(&pod) {
				s.setPhase(ctx, pod, v1.PodFailed)
			}
			_ = s.control.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		case pod.Status.Phase == v1.PodPending:
			s.setPhase(ctx, pod, v1.PodRunning)
		case s.brief.Load():
			s.setPhase(ctx, pod, v1.PodSucceeded)
		}
	}
	for name, cpu := range requested {
		node, err := s.control.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && cpu.Cmp(*node.Status.Allocatable.Cpu()) > 0 {
			s.broken = fmt.Errorf("the pods on node %s request %s CPUs of %s", name, cpu, node.Status.Allocatable.Cpu())
		}
	}
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func (s *stage) setPhase(ctx context.Context, pod v1.Pod, phase v1.PodPhase) {
	pod.Status.Phase = phase
	ready, now := v1.ConditionFalse, metav1.Now()
	if phase == v1.PodRunning {
		ready, pod.Status.StartTime = v1.ConditionTrue, &now
	}
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: ready, LastTransitionTime: now})
	_, _ = s.control.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
}

func (s *stage) must(err error) { controlplane.Must(err) }

func (s *stage) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *stage) until(what string, happened func() (bool, error)) {
	s.must(controlplane.Until(s.ctx, stepTimeout, what, func() (bool, error) {
		for _, program := range s.programs {
			if !program.Running() {
				return false, program.Gone()
			}
		}
		done, err := happened()
		if !done && err == nil {
			err = controlplane.Pause(s.ctx, 50*time.Millisecond)
		}
		return done, err
	}))
}

// node creates a node with so many CPUs and these labels (alternating keys and values).
func (s *stage) node(name, cpu string, labels ...string) {
	s.must(s.control.CreateNode(s.ctx, controlplane.ReadyNode(name, controlplane.Resources("cpu", cpu, "memory", "64Gi", "pods", "50"), labels...)))
}

func (s *stage) apply(manifests string) { s.must(s.control.Apply(s.ctx, manifests)) }

// queue creates a queue with this quota of CPUs of the flavor "default" and further fields of its ClusterQueue.
func (s *stage) queue(name, quota string, fields ...string) {
	s.apply(fmt.Sprintf(`{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %s}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: %q}]}]}]
  %s
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: %s, namespace: default}, spec: {clusterQueue: %s}}
`, name, quota, strings.Join(fields, "\n  "), name, name))
}

func podSpec(cpu string) v1.PodSpec {
	return v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "none",
		Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", cpu)}}}}
}

// pod creates a pod of the queue "main" that requests this amount of CPU.
func (s *stage) pod(name, cpu string, changes ...func(*v1.Pod)) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{queueLabel: "main"}}, Spec: podSpec(cpu)}
	for _, change := range changes {
		change(pod)
	}
	_, err := s.control.Client.CoreV1().Pods("default").Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
}

func (s *stage) deletePod(name string) { s.must(s.control.DeletePod(s.ctx, name)) }

// job creates a Job of the queue "main" with so many pods that request this amount of CPU each.
func (s *stage) job(name string, pods int32, cpu string, changes ...func(*batchv1.Job)) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{queueLabel: "main"}},
		Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: v1.PodTemplateSpec{Spec: podSpec(cpu)}}}
	for _, change := range changes {
		change(job)
	}
	_, err := s.control.Client.BatchV1().Jobs("default").Create(s.ctx, job, metav1.CreateOptions{})
	s.must(err)
}

// withLabel gives a Job a label.
func withLabel(label, value string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Labels[label] = value }
}

// podsOf are the pods with this label that have not ended.
func (s *stage) podsOf(selector string) []v1.Pod {
	list, err := s.control.Client.CoreV1().Pods("default").List(s.ctx, metav1.ListOptions{LabelSelector: selector})
	s.must(err)
	return slices.DeleteFunc(list.Items, func(pod v1.Pod) bool { return ended(&pod) || pod.DeletionTimestamp != nil })
}

func ofJob(name string) string    { return batchv1.JobNameLabel + "=" + name }
func ofJobSet(name string) string { return "jobset.sigs.k8s.io/jobset-name=" + name }

// started waits until so many pods with this label run, and returns them.
func (s *stage) started(selector string, count int) (pods []v1.Pod) {
	s.until(fmt.Sprintf("%d running pods with %s", count, selector), func() (bool, error) {
		pods = slices.DeleteFunc(s.podsOf(selector), func(pod v1.Pod) bool { return pod.Status.Phase != v1.PodRunning })
		return len(pods) == count, nil
	})
	return pods
}

// runs waits until all pods of a Job run, and notes it.
func (s *stage) runs(name string, count int) {
	s.started(ofJob(name), count)
	s.say("%s: %d running", name, count)
}

// runsOn is runs with the nodes, sorted.
func (s *stage) runsOn(name string, count int) {
	var nodes []string
	for _, pod := range s.started(ofJob(name), count) {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	s.say("%s: %d running on %s", name, count, strings.Join(nodes, ", "))
}

// bound waits until these pods have nodes, and notes it.
func (s *stage) bound(names ...string) {
	for _, name := range names {
		s.until("a node for "+name, func() (bool, error) {
			pod, err := s.control.Client.CoreV1().Pods("default").Get(s.ctx, name, metav1.GetOptions{})
			return err == nil && pod.Spec.NodeName != "", err
		})
	}
	s.say("%s bound", strings.Join(names, ", "))
}

// gated notes the pod's condition and gates after the time `quiet`.
func (s *stage) gated(name string) {
	s.must(controlplane.Pause(s.ctx, quiet))
	pod, err := s.control.Client.CoreV1().Pods("default").Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	var gates []string
	for _, gate := range pod.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled {
			s.say("%s: %s by %s", name, condition.Reason, strings.Join(gates, ", "))
		}
	}
}

// workload contains the fields of a Workload that scenarios read.
type workload struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Active *bool `json:"active"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// workloadOf is the Workload that Kueue created for a Job or JobSet; nil if there is none yet.
func (s *stage) workloadOf(owner string) *workload {
	text, err := s.control.Client.Discovery().RESTClient().Get().AbsPath("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads").DoRaw(s.ctx)
	s.must(err)
	var list struct {
		Items []workload `json:"items"`
	}
	s.must(json.Unmarshal(text, &list))
	for _, item := range list.Items {
		if slices.ContainsFunc(item.Metadata.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Name == owner }) {
			return &item
		}
	}
	return nil
}

// waits waits until Kueue has found no quota for a Job or JobSet whose pods have this label, and notes that it has no pods.
func (s *stage) waits(name, selector string) {
	s.until(name+" to have no quota", func() (bool, error) {
		w := s.workloadOf(name)
		return w != nil && slices.ContainsFunc(w.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == "QuotaReserved" && c.Status == metav1.ConditionFalse
		}) && len(s.podsOf(selector)) == 0, nil
	})
	s.must(controlplane.Pause(s.ctx, quiet))
	s.say("%s waits with %d pods", name, len(s.podsOf(selector)))
}

// evicted waits until Kueue has evicted a Job, and notes the reason.
func (s *stage) evicted(name string) {
	s.until(name+" to be evicted", func() (bool, error) {
		w := s.workloadOf(name)
		if w == nil {
			return false, nil
		}
		for _, condition := range w.Status.Conditions {
			if condition.Type == "Evicted" && condition.Status == metav1.ConditionTrue {
				s.say("%s is evicted: %s", name, condition.Reason)
				return true, nil
			}
		}
		return false, nil
	})
}

// finish ends the containers of the running pods with this label.
func (s *stage) finish(selector string) {
	for _, pod := range s.podsOf(selector) {
		s.until(pod.Name+" to end", func() (bool, error) {
			current, err := s.control.Client.CoreV1().Pods("default").Get(s.ctx, pod.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			if err != nil || ended(current) {
				return err == nil, err
			}
			s.setPhase(s.ctx, *current, v1.PodSucceeded)
			return false, nil
		})
	}
}

// finished waits until Jobs have completed.
func (s *stage) finished(names ...string) {
	for _, name := range names {
		s.until(name+" to complete", func() (bool, error) {
			job, err := s.control.Client.BatchV1().Jobs("default").Get(s.ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Type == batchv1.JobComplete && c.Status == v1.ConditionTrue
			}), nil
		})
	}
}

// checkBindings fails if a pod has two events Scheduled.
func (s *stage) checkBindings() {
	list, err := s.control.Client.EventsV1().Events("default").List(s.ctx, metav1.ListOptions{})
	s.must(err)
	bound := map[types.UID]string{}
	for _, event := range list.Items {
		if event.Reason != "Scheduled" {
			continue
		}
		if earlier, found := bound[event.Regarding.UID]; found || event.Series != nil {
			s.must(fmt.Errorf("%s was bound twice: %s; %s", event.Regarding.Name, earlier, event.Note))
		}
		bound[event.Regarding.UID] = event.Note
	}
}
