package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

// Nodes simulates the kubelets of all nodes for the pods of one namespace: it starts containers, probes them, writes
// their status, restarts them after a crash, and stops them on deletion. A pod that is not restarted ends with its
// container.
type Nodes struct {
	kubelet   *Kubelet
	namespace string
	addError  func(format string, args ...any)
	running   map[types.UID]*replica
	ended     []*Container
	address   int
	stopped   sync.WaitGroup
	mutex     sync.Mutex
}

// replica is a running pod.
type replica struct {
	pod       v1.Pod
	container *Container
	ready     bool
	finished  bool
	restarts  int32
	started   time.Time
}

// backOff is the delay before a container is restarted, if it was started recently.
const backOff = 3 * time.Second

// StartNodes starts the simulation. The returned function stops it and the pods. addError is called from another
// goroutine.
func (k *Kubelet) StartNodes(ctx context.Context, namespace string, addError func(format string, args ...any)) (*Nodes, func()) {
	n := &Nodes{kubelet: k, namespace: namespace, addError: addError, running: make(map[types.UID]*replica)}
	ctx, cancel := context.WithCancel(ctx)
	n.stopped.Go(func() {
		for controlplane.Pause(ctx, 100*time.Millisecond) == nil {
			if err := n.sync(ctx); err != nil && ctx.Err() == nil {
				n.addError("%v", err)
			}
		}
	})
	return n, func() {
		cancel()
		n.stopped.Wait()
		for uid := range n.running {
			n.end(uid)
		}
	}
}

// sync runs one iteration.
func (n *Nodes) sync(ctx context.Context) error {
	pods := n.kubelet.Control.Client.CoreV1().Pods(n.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	listed := make(map[types.UID]bool)
	for _, pod := range list.Items {
		listed[pod.UID] = true
		switch r := n.running[pod.UID]; {
		case pod.DeletionTimestamp != nil:
			n.end(pod.UID)
			now := int64(0)
			err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		case pod.Spec.NodeName == "":
		case r == nil:
			err = n.begin(ctx, pod)
		case r.finished:
		case !r.container.Child.Running() && pod.Spec.RestartPolicy == v1.RestartPolicyNever:
			err = n.finish(ctx, r)
		case !r.container.Child.Running() && time.Since(r.started) < backOff:
		case !r.container.Child.Running():
			err = n.restart(ctx, r)
		case !r.ready && r.container.Healthy(ctx, time.Millisecond) == nil:
			err = n.writeStatus(ctx, r, true)
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	// A finished pod is deleted at once.
	for uid := range n.running {
		if !listed[uid] {
			n.end(uid)
		}
	}
	return nil
}

// listening is the additional argument of a server: all pods share one network and use the same ports.
func listening(pod *v1.Pod, address string) []string {
	if len(pod.Spec.Containers[0].Ports) == 0 {
		return nil
	}
	return []string{"--bind-address=" + address}
}

// begin starts a pod with its own loopback address, because all pods use the same ports.
func (n *Nodes) begin(ctx context.Context, pod v1.Pod) error {
	n.address++
	address := fmt.Sprintf("127.90.91.%d", n.address)
	started, err := n.kubelet.Run(ctx, &pod, address, listening(&pod, address)...)
	if err != nil {
		return err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.running[pod.UID] = &replica{pod: pod, container: started, started: time.Now()}
	return nil
}

// restart starts the container of a pod again. If that fails, for example because a ConfigMap was deleted, it is tried
// again later.
func (n *Nodes) restart(ctx context.Context, r *replica) error {
	r.started = time.Now()
	next, err := n.kubelet.Run(ctx, &r.pod, r.container.Address, listening(&r.pod, r.container.Address)...)
	if err != nil {
		return err
	}
	n.mutex.Lock()
	n.ended = append(n.ended, r.container)
	r.container = next
	r.restarts++
	n.mutex.Unlock()
	return n.writeStatus(ctx, r, false)
}

// end stops a pod's container. A container that was ready must exit in an orderly way; another one may be starting.
func (n *Nodes) end(uid types.UID) {
	r := n.running[uid]
	if r == nil {
		return
	}
	if r.container.Child.Running() {
		if how := r.container.Child.Stop(); how != "" && r.ready {
			n.addError("%s exited with %s", r.container.Name, how)
		}
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.ended = append(n.ended, r.container)
	delete(n.running, uid)
}

// finish writes the status of a pod whose container has ended.
func (n *Nodes) finish(ctx context.Context, r *replica) error {
	pods := n.kubelet.Control.Client.CoreV1().Pods(n.namespace)
	pod, err := pods.Get(ctx, r.pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	code, _ := r.container.Child.Exited(0)
	pod.Status.Phase = v1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = v1.PodFailed
	}
	now := metav1.Now()
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image,
		State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(code), FinishedAt: now}}}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	r.finished = err == nil
	return err
}

// writeStatus writes a pod's status.
func (n *Nodes) writeStatus(ctx context.Context, r *replica, ready bool) error {
	n.mutex.Lock()
	r.ready = ready
	n.mutex.Unlock()
	pods := n.kubelet.Control.Client.CoreV1().Pods(n.namespace)
	pod, err := pods.Get(ctx, r.pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	state, now := v1.ConditionFalse, metav1.Now()
	if ready {
		state = v1.ConditionTrue
	}
	status := &pod.Status
	// A Service must not contain loopback addresses.
	address := strings.Replace(r.container.Address, "127.", "10.", 1)
	status.Phase, status.StartTime, status.PodIP, status.PodIPs = v1.PodRunning, &now, address, []v1.PodIP{{IP: address}}
	status.Conditions = nil
	for _, kind := range []v1.PodConditionType{v1.PodScheduled, v1.PodInitialized, v1.ContainersReady, v1.PodReady} {
		condition := v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now}
		if kind == v1.ContainersReady || kind == v1.PodReady {
			condition.Status = state
		}
		status.Conditions = append(status.Conditions, condition)
	}
	status.ContainerStatuses = []v1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: ready,
		Started: &ready, RestartCount: r.restarts, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// Replicas are the running containers by pod name.
func (n *Nodes) Replicas() map[string]*Container {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	all := make(map[string]*Container)
	for _, r := range n.running {
		all[r.pod.Name] = r.container
	}
	return all
}

// CheckLogs reports every error in the logs of all containers so far, and every denied request. A lost race for the
// lease is not an error, although it is logged as one.
func (n *Nodes) CheckLogs() {
	n.mutex.Lock()
	all := slices.Clone(n.ended)
	for _, r := range n.running {
		all = append(all, r.container)
	}
	n.mutex.Unlock()
	for _, c := range all {
		for line := range strings.SplitSeq(c.Logged(), "\n") {
			slower := strings.Contains(line, "cannot be fulfilled on leases") || strings.Contains(line, `\" already exists`)
			if strings.Contains(strings.ToLower(line), "forbidden") || strings.HasPrefix(line, "E") && !slower {
				n.addError("%s logs: %s", c.Name, line)
			}
		}
	}
}
