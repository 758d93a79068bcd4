// Command cpu_cost measures the cost of a bound pod against a real API server: the CPU time of the scheduler and of
// kube-apiserver and etcd, alternating between berth and kube-scheduler.
//
// Each round has its own control plane. Pods are created after the scheduler has started, and a second client watches
// them in Kubernetes' protobuf, like kubelets, controllers and both schedulers. berth-json is berth with contentType
// application/json, berth-no-events is berth that writes no events of scheduled pods. --json-watch adds a watch in JSON:
// the increase of the API server's CPU time is the cost of that encoding.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	contenders []string
	kinds      []string
	nodes      int
	pods       int
	rounds     int
	jsonWatch  bool
	dump       string
	json       bool
}

var contenders = []string{"berth", "berth-json", "berth-no-events", "kube-scheduler"}
var kinds = []string{"plain", "spread", "anti-affinity", "full", "claims"}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("cpu_cost", "--berth PATH [flags]", "Measures the CPU that a bound pod takes, of the scheduler and of a real API server.")
	list(flags, "with", &o.contenders, []string{"berth", "kube-scheduler"}, contenders, "schedulers, which run alternately")
	list(flags, "kinds", &o.kinds, kinds[:3], kinds,
		"pods: plain has requests only, spread is spread over zones, anti-affinity keeps 50 groups off each other's nodes, full has all fields of a Deployment's pods, claims has a claim for one of the eight devices of a node")
	flags.IntVar(&o.nodes, "nodes", 5000, "number of nodes, at least 100")
	flags.IntVar(&o.pods, "pods", 5000, "number of pods to bind, at most one per node with anti-affinity")
	flags.IntVar(&o.rounds, "rounds", 1, "rounds of each scheduler and kind")
	flags.StringVar(&o.dump, "dump", "", "write the bound pods into this `DIRECTORY` as the API server lists them: pods.json, pods.pb; for bench_encodings")
	flags.BoolVar(&o.jsonWatch, "json-watch", false, "another client watches all pods in JSON")
	flags.BoolVar(&o.json, "json", false, "print one JSON object per line")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.nodes < 100 || o.pods < 1 || o.pods > 20*o.nodes {
		return nil, fmt.Errorf("%d pods on %d nodes: at least 100 nodes, at most 20 pods for each", o.pods, o.nodes)
	}
	if slices.Contains(o.kinds, "claims") && o.pods > devicesPerNode*o.nodes {
		return nil, fmt.Errorf("%d pods with claims on %d nodes: at most %d for each", o.pods, o.nodes, devicesPerNode)
	}
	if !slices.ContainsFunc(o.contenders, isBerth) {
		return &o, o.Complete()
	}
	return &o, o.CompleteWithBerth()
}

// list is a flag with several words of a set, separated by commas.
func list(flags *flag.FlagSet, name string, into *[]string, otherwise, known []string, about string) {
	*into = otherwise
	flags.Func(name, fmt.Sprintf("%s, of %s (default %s)", about, strings.Join(known, ", "), strings.Join(otherwise, ",")), func(text string) error {
		*into = strings.Split(text, ",")
		for _, word := range *into {
			if !slices.Contains(known, word) {
				return fmt.Errorf("%q is none of %s", word, strings.Join(known, ", "))
			}
		}
		return nil
	})
}

func isBerth(contender string) bool { return strings.HasPrefix(contender, "berth") }

func main() { controlplane.Main("cpu_cost", parse, measureAll) }

// cpuCost is the result of one round.
type cpuCost struct {
	Kind      string  `json:"kind"`
	Scheduler string  `json:"scheduler"`
	Nodes     int     `json:"nodes"`
	Pods      int     `json:"pods"`
	Seconds   float64 `json:"seconds"`
	// CPU milliseconds per pod.
	OfScheduler float64 `json:"schedulerMsPerPod"`
	OfAPIServer float64 `json:"apiServerMsPerPod"`
}

func measureAll(ctx context.Context, o *options, directory string) error {
	if !o.json {
		fmt.Printf("%-14s %-20s %9s %9s %22s %22s\n", "pods", "scheduler", "seconds", "pods/s", "scheduler CPU ms/pod", "API server CPU ms/pod")
	}
	for _, kind := range o.kinds {
		for round := range o.rounds {
			for _, scheduler := range o.contenders {
				place := fmt.Sprintf("%s/%s-%s-%d", directory, kind, scheduler, round)
				if err := os.MkdirAll(place, 0o755); err != nil {
					return err
				}
				found, err := measure(ctx, o, kind, scheduler, place)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", kind, scheduler, err)
				}
				found.print(o.json)
			}
		}
	}
	return nil
}

func (e *cpuCost) print(asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(e)
		return
	}
	fmt.Printf("%-14s %-20s %9.1f %9.0f %22.3f %22.3f\n", e.Kind, e.Scheduler, e.Seconds, float64(e.Pods)/e.Seconds, e.OfScheduler, e.OfAPIServer)
}

// measured is the prefix of the names of the pods whose cost is measured.
const measured = "pod"

func measure(ctx context.Context, o *options, kind, scheduler, directory string) (*cpuCost, error) {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return nil, err
	}
	if err := controlplane.Each(ctx, o.nodes, func(i int) error {
		_, err := control.Client.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	if kind == "claims" {
		if err := makeDevices(ctx, control.Client, o.nodes, measured, o.pods); err != nil {
			return nil, err
		}
	}
	started, err := start(o, control, children, scheduler)
	if err != nil {
		return nil, err
	}
	bindings, err := watchBindings(ctx, control)
	if err != nil {
		return nil, err
	}
	if o.jsonWatch {
		if err := watchJSON(ctx, control); err != nil {
			return nil, err
		}
	}
	const warm = 100
	if err := bind(ctx, control.Client, bindings, started, "plain", "warm", warm, warm); err != nil {
		return nil, err
	}
	before := [2]float64{started.CPUSeconds(), control.APIServer.CPUSeconds()}
	begun := time.Now()
	if err := bind(ctx, control.Client, bindings, started, kind, measured, o.pods, warm+o.pods); err != nil {
		return nil, err
	}
	seconds := time.Since(begun).Seconds()
	// Events of the last pods may still be in progress.
	if err := controlplane.Pause(ctx, time.Second); err != nil {
		return nil, err
	}
	if o.dump != "" {
		if err := dump(ctx, control, o.dump); err != nil {
			return nil, err
		}
	}
	perPod := func(now, before float64) float64 { return 1000 * (now - before) / float64(o.pods) }
	return &cpuCost{kind, scheduler, o.nodes, o.pods, seconds,
		perPod(started.CPUSeconds(), before[0]), perPod(control.APIServer.CPUSeconds(), before[1])}, nil
}

func start(o *options, control *controlplane.ControlPlane, children *controlplane.Children, scheduler string) (*controlplane.Child, error) {
	kubeconfig, err := control.WriteKubeconfig(control.URL, scheduler, "cert")
	if err != nil {
		return nil, err
	}
	config := control.File(scheduler + ".yaml")
	text := controlplane.SchedulerConfig(kubeconfig, "default-scheduler")
	if scheduler == "berth-json" {
		text = strings.Replace(text, "clientConnection:\n", "clientConnection:\n  contentType: application/json\n", 1)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	command := []string{o.Real, "kube-scheduler"}
	if isBerth(scheduler) {
		command = []string{o.Berth, "scheduler"}
	}
	if scheduler == "berth-no-events" {
		command = append(command, "--berth-scheduled-event-ratio=0")
	}
	return children.Start(scheduler, command, "--config="+config, "--secure-port=0")
}

// watchBindings counts bound pods. The reported number never decreases.
func watchBindings(ctx context.Context, control *controlplane.ControlPlane) (func() int, error) {
	client, err := control.ClientOf("application/vnd.kubernetes.protobuf")
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	var bound atomic.Int64
	count := func(pod any) {
		if pod.(*v1.Pod).Spec.NodeName != "" {
			bound.Add(1)
		}
	}
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: count,
		UpdateFunc: func(before, after any) {
			if before.(*v1.Pod).Spec.NodeName == "" {
				count(after)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func() int { return int(bound.Load()) }, nil
}

// watchJSON reads the watch like a scheduler, and discards the data.
func watchJSON(ctx context.Context, control *controlplane.ControlPlane) error {
	client, err := control.ClientOf("application/json")
	if err != nil {
		return err
	}
	stream, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").Param("watch", "1").Stream(ctx)
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, stream) }()
	return nil
}

// dump writes a list of all pods in both encodings.
func dump(ctx context.Context, control *controlplane.ControlPlane, directory string) error {
	for file, encoding := range map[string]string{"pods.json": "application/json", "pods.pb": "application/vnd.kubernetes.protobuf"} {
		client, err := control.ClientOf(encoding)
		if err != nil {
			return err
		}
		text, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").SetHeader("Accept", encoding).DoRaw(ctx)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bind creates pods and returns when this total number is bound.
func bind(ctx context.Context, client kubernetes.Interface, bindings func() int, scheduler *controlplane.Child, kind, prefix string, pods, bound int) error {
	if err := controlplane.Each(ctx, pods, func(i int) error {
		_, err := client.CoreV1().Pods("default").Create(ctx, pod(kind, prefix, i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return controlplane.Until(ctx, 10*time.Minute, fmt.Sprintf("%d pods bound", bound), func() (bool, error) {
		if !scheduler.Running() {
			return false, scheduler.Gone()
		}
		return bindings() >= bound, nil
	})
}

func node(i int) *v1.Node {
	return controlplane.ReadyNode(fmt.Sprintf("node-%d", i), controlplane.Resources("cpu", "32", "memory", "128Gi", "pods", "110"),
		v1.LabelTopologyZone, fmt.Sprintf("zone-%d", i%10))
}

func pod(kind, prefix string, i int) *v1.Pod {
	made := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", prefix, i)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "main", Image: "registry.example/app:v1", Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "100m", "memory", "128Mi")},
		}}},
	}
	group := map[string]string{"app": fmt.Sprintf("app-%d", i%50)}
	if kind != "plain" {
		made.Labels = group
	}
	switch kind {
	case "spread":
		made.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: group},
		}}
	case "full":
		complete(made)
	case "claims":
		useClaim(made)
	case "anti-affinity":
		made.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: group},
		}}}}
	}
	return made
}

// complete adds the fields that pods of a Deployment usually have and few schedulers read.
func complete(pod *v1.Pod) {
	pod.Annotations = map[string]string{"prometheus.io/scrape": "true", "checksum/config": strings.Repeat("0123456789abcdef", 4)}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pod.Labels["app"] + "-7d9c6b5f48",
		UID: "7e7b2f4c-53a5-4a5e-9f3b-0d6c1f0c9a11", Controller: new(bool), BlockOwnerDeletion: new(bool)}}
	pod.Spec.Volumes = []v1.Volume{
		{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "config"}}}},
		{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
	}
	probe := &v1.Probe{PeriodSeconds: 5, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
	main := &pod.Spec.Containers[0]
	main.Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}}
	main.LivenessProbe, main.ReadinessProbe = probe, probe.DeepCopy()
	main.VolumeMounts = []v1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "scratch", MountPath: "/tmp"}}
	for i := range 12 {
		main.Env = append(main.Env, v1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "https://service.namespace.svc:8443/path"})
	}
	proxy := main.DeepCopy()
	proxy.Name, proxy.Ports = "proxy", nil
	pod.Spec.Containers = append(pod.Spec.Containers, *proxy)
	seconds := int64(300)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
}
