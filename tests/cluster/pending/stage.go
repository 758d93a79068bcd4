package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	patience = 20 * time.Second
	// quiet is how long a pod must stay pending before its situation is explained.
	quiet = 300 * time.Millisecond
	// measured is longer than the interval at which Prometheus is queried.
	measured = 2500 * time.Millisecond
)

// stage is a cluster with berth as its scheduler, and the objects of the current situation.
type stage struct {
	*controlplane.ControlPlane
	ctx      context.Context
	options  *options
	children *controlplane.Children
	config   string // the scheduler's configuration, which explanations use, too
	sources  string // its file of metric sources
	port     int    // the scheduler's secure port
	services *services
}

func (s *stage) check(err error) { controlplane.Must(err) }

func newStage(ctx context.Context, o *options, directory string) (*stage, error) {
	s := &stage{ctx: ctx, options: o, children: &controlplane.Children{Directory: directory}}
	var err error
	if s.ControlPlane, err = controlplane.Start(ctx, o.Real, directory, s.children); err != nil {
		return nil, err
	}
	if s.services, err = startServices(); err != nil {
		return nil, err
	}
	if err := s.startScheduler(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stage) startScheduler() error {
	kubeconfig, err := s.WriteKubeconfig(s.URL, "berth", "admin")
	if err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	s.port, s.config, s.sources = ports[0], s.File("scheduler.yaml"), s.File("sources.yaml")
	sources := fmt.Sprintf("sources: [{name: main, addresses: [%q], pollInterval: 1s}]", s.services.url())
	if err := os.WriteFile(s.sources, []byte(sources), 0o600); err != nil {
		return err
	}
	text := fmt.Sprintf(configuration, kubeconfig, s.services.url())
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		return err
	}
	_, err = s.children.Start("berth", []string{s.options.Berth, "scheduler"}, "--config="+s.config, "--berth-metric-sources="+s.sources,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port), "--berth-http-address=127.0.0.1:0", "--berth-api-retry", "-v=2")
	return err
}

// Retries come within a second. The extender is called for pods that request a license.
const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: true}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Gangs}]}}
  pluginConfig: [{name: Gangs, args: {sources: [Annotation]}}]
- schedulerName: load-aware
  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 5}]}}
  pluginConfig:
  - name: LoadAware
    args:
      prometheusAddress: main
      preset: none
      signals: [{name: heat, query: max by ($node) (heat), full: 100, threshold: 80, estimate: {from: none}}]
extenders:
- urlPrefix: %s
  filterVerb: filter
  nodeCacheCapable: true
  managedResources: [{name: example.com/license, ignoredByScheduler: true}]
`

// situation is a pending pod and the advice that must lead to its binding.
type situation struct {
	name    string
	objects func(s *stage)
	pod     string // explained, in the namespace default
	reason  string // a part of the explanation
	advice  string // the steps of one advice, joined as in the explanation
}

// result is what happened.
type result struct {
	explanation, applied, node string
}

// play creates the objects, explains the pod, applies the advice and waits for the binding; at last it removes the
// objects.
func (s *stage) play(one situation) (r result, err error) {
	played := controlplane.Played(func() { r, err = s.follow(one) })
	return r, errors.Join(played, err, s.clean())
}

func (s *stage) follow(one situation) (r result, err error) {
	one.objects(s)
	s.awaitPending(one.pod)
	r.explanation = s.explain(one.pod)
	if !strings.Contains(r.explanation, one.reason) {
		return r, fmt.Errorf("expected the reason %q:\n%s", one.reason, r.explanation)
	}
	all := adviceIn(r.explanation)
	at := slices.IndexFunc(all, func(a advice) bool { return strings.Join(a.steps, "; and ") == one.advice })
	if at < 0 {
		return r, fmt.Errorf("expected the advice %q:\n%s", one.advice, r.explanation)
	}
	s.pending(one.pod)
	r.applied = one.advice
	for _, step := range all[at].steps {
		s.apply(one.pod, step)
	}
	r.node, err = s.NodeOf(s.ctx, patience, one.pod)
	if err == nil && !slices.Contains(all[at].nodes, r.node) {
		err = fmt.Errorf("the advice names the nodes %q, the pod is on %s", all[at].nodes, r.node)
	}
	if err != nil {
		err = fmt.Errorf("after %q: %w:\n%s", one.advice, err, r.explanation)
	}
	return r, err
}

// awaitPending waits until the scheduler has rejected the pod. Members of incomplete groups and pods of other schedulers
// have no condition of the scheduler.
func (s *stage) awaitPending(name string) {
	err := controlplane.Until(s.ctx, patience, "an attempt for "+name, func() (bool, error) {
		pod, err := s.Client.CoreV1().Pods("default").Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		attempted := slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
		gated := pod.Annotations[groupAnnotation] != ""
		return attempted || gated || !slices.Contains([]string{"default-scheduler", "load-aware"}, pod.Spec.SchedulerName), nil
	})
	s.check(err)
	s.check(controlplane.Pause(s.ctx, quiet))
	s.pending(name)
}

func (s *stage) pending(name string) {
	pod, err := s.Client.CoreV1().Pods("default").Get(s.ctx, name, metav1.GetOptions{})
	s.check(err)
	if pod.Spec.NodeName != "" {
		s.check(fmt.Errorf("pod %s is on %s before the advice was applied", name, pod.Spec.NodeName))
	}
}

func (s *stage) explain(name string) string {
	out, err := s.berth("explain", "pod/"+name, "--config="+s.config, "--berth-metric-sources="+s.sources, "-o", "wide")
	if err != nil {
		s.check(fmt.Errorf("berth explain: %w: %s", err, out))
	}
	return out
}

// berth runs the program for the cluster and returns what it prints.
func (s *stage) berth(args ...string) (string, error) {
	command := exec.CommandContext(s.ctx, s.options.Berth, append(args, "--kubeconfig="+s.AdminKubeconfig)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// clean removes all objects of a situation.
func (s *stage) clean() error {
	now := int64(0)
	del := metav1.DeleteOptions{GracePeriodSeconds: &now}
	all := metav1.ListOptions{}
	core, storage, devices := s.Client.CoreV1(), s.Client.StorageV1(), s.Client.ResourceV1()
	pods := core.Pods("default").DeleteCollection(s.ctx, del, all)
	s.services.setHeat(nil)
	return errors.Join(pods,
		s.releaseProtected(),
		core.PersistentVolumeClaims("default").DeleteCollection(s.ctx, del, all),
		core.PersistentVolumes().DeleteCollection(s.ctx, del, all),
		storage.CSINodes().DeleteCollection(s.ctx, del, all),
		storage.StorageClasses().DeleteCollection(s.ctx, del, all),
		devices.ResourceClaims("default").DeleteCollection(s.ctx, del, all),
		devices.ResourceSlices().DeleteCollection(s.ctx, del, all),
		devices.DeviceClasses().DeleteCollection(s.ctx, del, all),
		core.Nodes().DeleteCollection(s.ctx, del, all))
}

// releaseProtected removes the finalizers of claims and volumes, as the controllers of the volumes would do.
func (s *stage) releaseProtected() error {
	claims, err := s.Client.CoreV1().PersistentVolumeClaims("default").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		claim.Finalizers = nil
		_, failed := s.Client.CoreV1().PersistentVolumeClaims("default").Update(s.ctx, &claim, metav1.UpdateOptions{})
		err = errors.Join(err, failed)
	}
	devices, failed := s.Client.ResourceV1().ResourceClaims("default").List(s.ctx, metav1.ListOptions{})
	err = errors.Join(err, failed)
	if failed != nil {
		return err
	}
	for _, claim := range devices.Items {
		claim.Finalizers = nil
		_, failed := s.Client.ResourceV1().ResourceClaims("default").Update(s.ctx, &claim, metav1.UpdateOptions{})
		err = errors.Join(err, failed)
	}
	volumes, failed := s.Client.CoreV1().PersistentVolumes().List(s.ctx, metav1.ListOptions{})
	err = errors.Join(err, failed)
	if failed != nil {
		return err
	}
	for _, volume := range volumes.Items {
		volume.Finalizers = nil
		_, failed := s.Client.CoreV1().PersistentVolumes().Update(s.ctx, &volume, metav1.UpdateOptions{})
		err = errors.Join(err, failed)
	}
	return err
}

// create applies manifests in the namespace default.
func (s *stage) create(manifests ...string) { s.check(s.Apply(s.ctx, manifests...)) }

// node creates a ready node with 4 CPUs, 8 GiB and 110 pods, and what change sets.
func (s *stage) node(name string, change ...func(*v1.Node)) {
	node := controlplane.ReadyNode(name, controlplane.Resources("cpu", "4", "memory", "8Gi", "pods", "110"))
	for _, one := range change {
		one(node)
	}
	s.addNode(node)
}

func (s *stage) addNode(node *v1.Node) {
	s.check(s.CreateNode(s.ctx, node))
}

// running creates a pod on a node.
func (s *stage) running(node, manifest string) {
	s.create(strings.Replace(manifest, "spec: {", "spec: {nodeName: "+node+", ", 1))
}
