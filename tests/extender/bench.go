package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// bench measures the CPU time of a filter call with whole nodes if the extender returns all of them: alternately for
// kube-scheduler's own client and berth.
func bench(berth string, nodes, rounds int) error {
	directory, err := os.MkdirTemp("", "extender")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	echo, url, err := startEcho()
	if err != nil {
		return err
	}
	defer func() { _ = echo.Process.Kill(); _ = echo.Wait() }()
	objects := benchNodes(nodes)
	text, _ := json.Marshal(objects)
	fmt.Printf("%d nodes, %.1f MB\n", nodes, float64(len(text))/1e6)
	var real, candidate []float64
	for range rounds {
		a, err := realCall(url, objects)
		if err != nil {
			return err
		}
		b, err := berthCall(berth, directory, url, objects)
		if err != nil {
			return err
		}
		fmt.Printf("kube-scheduler %6.1f ms   berth %6.1f ms   1/%.1f\n", a, b, a/b)
		real, candidate = append(real, a), append(candidate, b)
	}
	slices.Sort(real)
	slices.Sort(candidate)
	a, b := real[rounds/2], candidate[rounds/2]
	fmt.Printf("median: kube-scheduler %.1f ms, berth %.1f ms of CPU per filter call: 1/%.1f\n", a, b, a/b)
	return nil
}

func benchNodes(count int) []v1.Node {
	var nodes []v1.Node
	for i := range count {
		room := v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
		name := fmt.Sprintf("node-%05d", i)
		node := v1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-1", Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: "z"}},
			Status:     v1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
		for j := range 50 {
			image := fmt.Sprintf("registry.example/team-%d/a-service-of-some-name", j)
			node.Status.Images = append(node.Status.Images, v1.ContainerImage{SizeBytes: int64(1000000 + j),
				Names: []string{fmt.Sprintf("%s@sha256:%064x", image, j), image + ":v1.2.3"}})
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// startEcho starts this program as an extender that accepts everything, in a separate process, so that its CPU time is
// not measured.
func startEcho() (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	echo := exec.Command(self, "--echo")
	out, err := echo.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := echo.Start(); err != nil {
		return nil, "", err
	}
	var url string
	_, err = fmt.Fscanln(out, &url)
	return echo, url, err
}

// serveEcho returns the bytes of the request's nodes.
func serveEcho() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		begin := bytes.Index(body, []byte(`,"Nodes":{`))
		end := bytes.LastIndex(body, []byte(`,"NodeNames":`))
		if begin < 0 || end < begin {
			http.Error(w, "no nodes", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{%s,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":null,"Error":""}`, body[begin+1:end])
	}))
}

func cpu(target int) time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(target, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

const benchCalls = 20

func realCall(url string, nodes []v1.Node) (float64, error) {
	extender, err := scheduler.NewHTTPExtender(&schedulerapi.Extender{URLPrefix: url, FilterVerb: "filter", HTTPTimeout: metav1.Duration{Duration: time.Minute}})
	if err != nil {
		return 0, err
	}
	var infos []fwk.NodeInfo
	for i := range nodes {
		info := framework.NewNodeInfo()
		info.SetNode(&nodes[i])
		infos = append(infos, info)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	var began time.Duration
	for i := range benchCalls + 2 {
		if i == 2 {
			began = cpu(syscall.RUSAGE_SELF)
		}
		left, _, _, err := extender.Filter(pod, infos)
		if err != nil || len(left) != len(nodes) {
			return 0, fmt.Errorf("%d of %d nodes passed: %v", len(left), len(nodes), err)
		}
	}
	return milliseconds(cpu(syscall.RUSAGE_SELF) - began), nil
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000 / benchCalls
}

// berthCall runs berth explain with few pods and with many: the difference is the cost of the calls.
func berthCall(berth, directory, url string, nodes []v1.Node) (float64, error) {
	configuration := filepath.Join(directory, "config.yaml")
	text := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n- {urlPrefix: %q, filterVerb: filter, httpTimeout: 60s}\n", url)
	if err := os.WriteFile(configuration, []byte(text), 0o600); err != nil {
		return 0, err
	}
	var took [2]time.Duration
	for i, pods := range []int{2, 2 + benchCalls} {
		items := make([]any, 0, len(nodes)+pods)
		for j := range nodes {
			items = append(items, &nodes[j])
		}
		for j := range pods {
			items = append(items, &v1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", j), Namespace: "default"},
				Spec: v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{Name: "c", Image: "i"}}}})
		}
		dump := filepath.Join(directory, "cluster.json")
		list, _ := json.Marshal(map[string]any{"kind": "List", "apiVersion": "v1", "items": items})
		if err := os.WriteFile(dump, list, 0o600); err != nil {
			return 0, err
		}
		explain := exec.Command(berth, "explain", "--config", configuration, "-f", dump, "-o", "json")
		out, err := explain.Output()
		if err != nil || strings.Count(string(out), `"result":"scheduled"`) != pods {
			return 0, fmt.Errorf("berth explain: %v: %.300s", err, out)
		}
		took[i] = explain.ProcessState.UserTime() + explain.ProcessState.SystemTime()
	}
	return milliseconds(took[1] - took[0]), nil
}
