package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"berth.test/cluster/controlplane"
)

// onControlPlane runs play with a separate API server and a timeout of two minutes.
func onControlPlane(berth, real string, play func(ctx context.Context, control *controlplane.ControlPlane, children *controlplane.Children, berth, real string) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	directory, err := os.MkdirTemp("", "extender")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, real, directory, children)
	if err != nil {
		return err
	}
	return play(ctx, control, children, berth, real)
}

// live runs kube-scheduler and berth on a real API server, each with its own profile and extenders; the results for the
// pods must be equal.
func live(ctx context.Context, control *controlplane.ControlPlane, children *controlplane.Children, berth, real string) error {
	environment := &environment{client: control.Client}
	server := httptest.NewServer(environment)
	defer server.Close()
	defer server.CloseClientConnections()
	for i := 1; i <= 3; i++ {
		if err := environment.addNode(ctx, fmt.Sprintf("n-%d", i)); err != nil {
			return err
		}
	}
	kinds := map[string][]string{"reference": {real, "kube-scheduler"}, "berth": {berth, "scheduler"}}
	for kind, command := range kinds {
		if err := environment.start(control, children, kind, command, server.URL); err != nil {
			return err
		}
		for _, pod := range livePods {
			if err := environment.addPod(ctx, kind, pod.name); err != nil {
				return err
			}
		}
	}
	var failures []string
	for _, pod := range livePods {
		want, err := environment.outcome(ctx, "reference", pod)
		if err != nil {
			return err
		}
		got, err := environment.outcome(ctx, "berth", pod)
		if err != nil {
			return err
		}
		if want != got || !strings.Contains(want, pod.expect) {
			failures = append(failures, fmt.Sprintf("pod %s, expected %q\n  real  %s\n  berth %s", pod.name, pod.expect, want, got))
		}
	}
	failures = append(failures, environment.failures()...)
	fmt.Printf("%d pods on a real API server, %d requests in Go's own spelling, %d failures\n", len(livePods), environment.requests, len(failures))
	if len(failures) > 0 {
		return errors.New(strings.Join(failures, "\n"))
	}
	return nil
}

type livePod struct{ name, expect string }

// The name of a pod selects the replies of the extenders (environment.reply).
var livePods = []livePod{
	{"to-n2", "on n-2"}, {"prefers-n3", "on n-3"}, {"refused", "0/3 nodes are available: 3 too hot."}, {"error", "no idea"}, {"status", "code 503"},
	{"rubbish", "invalid character '<'"}, {"hang", "Client.Timeout exceeded while awaiting headers"}, {"bind-error", "no port left"}, {"bind-lost", "on n-"},
	{"silent", "0/3 nodes are available:"},
}

// environment is the cluster, and the extenders of both schedulers.
type environment struct {
	client   kubernetes.Interface
	mutex    sync.Mutex
	wrong    []string
	requests int
}

func (s *environment) failures() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.wrong)
}

func (s *environment) start(control *controlplane.ControlPlane, children *controlplane.Children, kind string, command []string, url string) error {
	kubeconfig, err := control.WriteKubeconfig(control.URL, kind, "cert")
	if err != nil {
		return err
	}
	text := controlplane.SchedulerConfig(kubeconfig, kind) + fmt.Sprintf(`extenders:
- {urlPrefix: %[1]s/%[2]s/names, filterVerb: filter, prioritizeVerb: prioritize, weight: 1000, bindVerb: bind, nodeCacheCapable: true, httpTimeout: 1s}
- {urlPrefix: %[1]s/%[2]s/whole, filterVerb: filter, ignorable: true, httpTimeout: 1s}
`, url, kind)
	config := control.File(kind + ".yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	arguments := []string{"--kubeconfig=" + kubeconfig, "--config=" + config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0])}
	if kind == "berth" {
		arguments = append(arguments, "--berth-http-metrics", fmt.Sprintf("--berth-http-address=127.0.0.1:%d", ports[1]))
	}
	_, err = children.Start(kind, command, arguments...)
	return err
}

func (s *environment) addNode(ctx context.Context, name string) error {
	room := v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": "<a&b>"}}}
	created, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Spec.Taints = nil
	if created, err = s.client.CoreV1().Nodes().Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	created.Status = v1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}
	_, err = s.client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

func (s *environment) addPod(ctx context.Context, kind, name string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: kind + "-" + name, Labels: map[string]string{"does": name}, Annotations: map[string]string{"note": "<\u2028&>"}},
		Spec: v1.PodSpec{SchedulerName: kind, Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse("10m")}}}}}}
	_, err := s.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// outcome waits until the pod is bound or has a condition.
func (s *environment) outcome(ctx context.Context, kind string, pod livePod) (string, error) {
	name := kind + "-" + pod.name
	for {
		object, err := s.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("pod %s: %w", name, err)
		}
		if object.Spec.NodeName != "" {
			if pod.name == "bind-lost" {
				return "on n-", nil
			}
			return "on " + object.Spec.NodeName, nil
		}
		events, err := s.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return "", err
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type != v1.PodScheduled || condition.Message == "" || len(events.Items) == 0 || pod.name == "bind-lost" {
				continue
			}
			event := events.Items[0]
			text := fmt.Sprintf("%s: %s (%s: %s)", condition.Reason, condition.Message, event.Reason, event.Message)
			return strings.ReplaceAll(text, kind, "KIND"), nil
		}
		if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
			return "", fmt.Errorf("pod %s: %w", name, err)
		}
	}
}

// ServeHTTP replies to both schedulers.
func (s *environment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	kind, form, verb := parts[0], parts[1], parts[2]
	if verb == "bind" {
		var args extenderv1.ExtenderBindingArgs
		s.check(kind, body, &args)
		s.bind(w, r, args)
		return
	}
	var args extenderv1.ExtenderArgs
	s.check(kind, body, &args)
	if len(args.Pod.ManagedFields) > 0 || (args.Nodes != nil && len(args.Nodes.Items[0].ManagedFields) == 0) {
		s.note("%s: managedFields of the pod, or none of nodes: %s", kind, body)
	}
	if form == "whole" {
		_ = json.NewEncoder(w).Encode(extenderv1.ExtenderFilterResult{Nodes: args.Nodes})
		return
	}
	s.reply(w, r, verb, args)
}

// check compares a request with the bytes that Go's own client writes.
func (s *environment) check(kind string, body []byte, args any) {
	if err := json.Unmarshal(body, args); err != nil {
		s.note("%s: %v: %s", kind, err, body)
		return
	}
	again, _ := json.Marshal(args)
	if !bytes.Equal(again, body) {
		s.note("%s does not write as Go does\n  it   %s\n  Go   %s", kind, body, again)
	}
	s.mutex.Lock()
	s.requests++
	s.mutex.Unlock()
}

func (s *environment) note(format string, arguments ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, arguments...))
}

func (s *environment) reply(w http.ResponseWriter, r *http.Request, verb string, args extenderv1.ExtenderArgs) {
	does := args.Pod.Labels["does"]
	if verb == "prioritize" {
		scores := extenderv1.HostPriorityList{}
		if does == "prefers-n3" {
			scores = extenderv1.HostPriorityList{{Host: "n-3", Score: 10}}
		}
		_ = json.NewEncoder(w).Encode(scores)
		return
	}
	result := extenderv1.ExtenderFilterResult{NodeNames: args.NodeNames}
	switch does {
	case "to-n2":
		result.NodeNames = &[]string{"n-2"}
	case "refused":
		result = extenderv1.ExtenderFilterResult{FailedNodes: map[string]string{"n-1": "too hot", "n-2": "too hot", "n-3": "too hot"}}
	case "silent":
		result.NodeNames = &[]string{}
	case "error":
		result.Error = "no idea"
	case "status":
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case "rubbish":
		_, _ = io.WriteString(w, "<html>")
		return
	case "hang":
		<-r.Context().Done()
		return
	}
	_ = json.NewEncoder(w).Encode(result)
}

func (s *environment) bind(w http.ResponseWriter, r *http.Request, args extenderv1.ExtenderBindingArgs) {
	if strings.HasSuffix(args.PodName, "bind-error") {
		_ = json.NewEncoder(w).Encode(extenderv1.ExtenderBindingResult{Error: "no port left"})
		return
	}
	binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID}, Target: v1.ObjectReference{Kind: "Node", Name: args.Node}}
	var result extenderv1.ExtenderBindingResult
	if err := s.client.CoreV1().Pods(args.PodNamespace).Bind(r.Context(), binding, metav1.CreateOptions{}); err != nil {
		result.Error = err.Error()
	}
	if strings.HasSuffix(args.PodName, "bind-lost") {
		<-r.Context().Done()
		return
	}
	_ = json.NewEncoder(w).Encode(result)
}
