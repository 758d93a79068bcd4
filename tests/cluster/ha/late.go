package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

const lateName = "a binding that arrives late"

// late tests a case that leader election cannot prevent: the leader sends a binding and dies, the network
// delays it, the next leader assigns the resources to another pod, and then the binding arrives. It must be
// reported.
type late struct {
	*stage
	node    string
	held    chan struct{} // closed when the binding has been sent
	release chan struct{} // closed to deliver it
}

func playLate(ctx context.Context, s *stage) (string, []string, error) {
	s.scenario = scenario{[]string{"berth", "berth"}, killed}
	l := &late{stage: s, node: s.id + "-narrow", held: make(chan struct{}), release: make(chan struct{})}
	defer l.tidy()
	for _, step := range []func(context.Context) error{l.prepare, l.startReplicas, l.loseLeader, l.arriveLate, l.bindForOthers} {
		if err := step(ctx); err != nil {
			return "", nil, err
		}
	}
	s.stopFollowers()
	return fmt.Sprintf("%-34s %.0f over-commitments reported", lateName, s.reported), s.wrong, nil
}

func (l *late) prepare(ctx context.Context) error {
	client := l.control.Client
	if _, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.id}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Value: 10}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	node := controlplane.ReadyNode(l.node, controlplane.Resources("cpu", "1", "memory", "8Gi", "pods", "110"))
	_, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

func (l *late) startReplicas(ctx context.Context) error {
	proxy, err := controlplane.StartHTTPSProxy(l.control, l.keepBinding)
	if err != nil {
		return err
	}
	if err := l.startAt(ctx, &replica{kind: "berth", name: l.id + "-0-berth", stop: proxy.Stop}, proxy.URL, "token"); err != nil {
		return err
	}
	return l.start(ctx, 1, "berth")
}

// keepBinding delays the binding of one pod, even if its sender dies.
func (l *late) keepBinding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/pods/late/binding") {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		close(l.held)
		<-l.release
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		controlplane.LoseAnswer(w, again, next)
	})
}

// loseLeader kills the leader after it has sent its binding; the next leader assigns the resources to another
// pod.
func (l *late) loseLeader(ctx context.Context) error {
	if err := l.makePod(ctx, "late", "700m", l.id, ""); err != nil {
		return err
	}
	select {
	case <-l.held:
	case <-time.After(20 * time.Second):
		return fmt.Errorf("the pod is not bound")
	}
	l.replicas[0].child.Signal(syscall.SIGKILL)
	if err := l.makePod(ctx, "early", "700m", l.id, "first"); err != nil {
		return err
	}
	return l.untilOn(ctx, "early", 4*l.election.Lease)
}

func (l *late) arriveLate(ctx context.Context) error {
	if count, err := l.counted(); err != nil || count != 0 {
		return fmt.Errorf("%.0f over-commitments are reported too soon (%v)", count, err)
	}
	close(l.release)
	if err := l.untilOn(ctx, "late", 10*time.Second); err != nil {
		return err
	}
	return l.untilReported(ctx, 1, "late", "milli-cpu 1400 of 1000")
}

// bindForOthers checks that an overcommitting binding is reported once, and another is not.
func (l *late) bindForOthers(ctx context.Context) error {
	pods := l.control.Client.CoreV1().Pods(l.id)
	touch := []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)
	if _, err := pods.Patch(ctx, "late", types.MergePatchType, touch, metav1.PatchOptions{}); err != nil {
		return err
	}
	for _, other := range []struct{ name, node string }{{"fitting", "n-0"}, {"too-much", l.node}} {
		if err := l.makePod(ctx, other.name, "100m", "other-scheduler", ""); err != nil {
			return err
		}
		err := pods.Bind(ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: other.name}, Target: v1.ObjectReference{Kind: "Node", Name: other.node}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return l.untilReported(ctx, 2, "too-much", "milli-cpu 1500 of 1000")
}

func (l *late) makePod(ctx context.Context, name, cpu, scheduler, class string) error {
	pod := newPod(l.id, name, scheduler)
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
	pod.Spec.PriorityClassName = class
	if scheduler == l.id {
		pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": l.node}
	}
	_, err := l.control.Client.CoreV1().Pods(l.id).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (l *late) untilOn(ctx context.Context, name string, stepTimeout time.Duration) error {
	return controlplane.Until(ctx, stepTimeout, name+" to be bound", func() (bool, error) {
		pod, err := l.control.Client.CoreV1().Pods(l.id).Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName == l.node, err
	})
}

func (l *late) counted() (float64, error) {
	text, err := l.replicas[1].metrics()
	if err != nil {
		return 0, err
	}
	found := overcommitted.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no metric berth_overcommitted_placements_total")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// untilReported waits for this total number of reports, and for the event of the pod.
func (l *late) untilReported(ctx context.Context, count float64, pod, exceeded string) error {
	err := controlplane.Until(ctx, 10*time.Second, "the report about "+pod, func() (done bool, err error) {
		l.reported, err = l.counted()
		return l.reported >= count, err
	})
	if err != nil {
		return err
	}
	if l.reported != count {
		l.addError("%.0f over-commitments are counted, not %.0f", l.reported, count)
	}
	note := fmt.Sprintf("Node %s is overcommitted since this pod was bound to it: %s", l.node, exceeded)
	return controlplane.Until(ctx, 10*time.Second, "the event about "+pod, func() (bool, error) {
		list, err := l.control.Client.EventsV1().Events(l.id).List(ctx, metav1.ListOptions{FieldSelector: "reason=OvercommittedNode"})
		if err != nil {
			return false, err
		}
		for _, event := range list.Items {
			if event.Regarding.Name != pod {
				continue
			}
			if event.Type != "Warning" || event.Note != note || event.Regarding.UID == "" || event.ReportingController != l.id {
				l.addError("the event about %s is %+v", pod, event)
			}
			return len(list.Items) == int(count), nil
		}
		return false, nil
	})
}

func (l *late) tidy() {
	select {
	case <-l.release:
	default:
		close(l.release)
	}
	l.clear()
	_ = l.control.Client.CoreV1().Nodes().Delete(context.Background(), l.node, metav1.DeleteOptions{})
}
