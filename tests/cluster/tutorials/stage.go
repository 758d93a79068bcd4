package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

// The load of the nodes. node4 has run for a year and its network is idle now; node6 was booted yesterday and is busy.
// node7 is not measured.
var loads = map[string]load{
	"node4": {received: 9.5e13, perSec: 1e4, busy: 0.55},
	"node5": {received: 2.1e13, perSec: 5e6, busy: 0.08},
	"node6": {received: 1e9, perSec: 8e7, busy: 0.9},
}

var racks = map[string]string{"node4": "a", "node5": "b", "node6": "b", "node7": "c"}

// stepTimeout is the timeout of a step.
const stepTimeout = 30 * time.Second

// stage is the cluster of the tutorials.
type stage struct {
	*options
	controlplane.Errors
	control    *controlplane.ControlPlane
	children   *controlplane.Children
	kubelet    *kubelet.Kubelet
	monitoring *monitoring
	running    []*kubelet.Container
}

func setUp(ctx context.Context, o *options, directory string, children *controlplane.Children) (*stage, error) {
	// Schedulers in the host's network have kube-scheduler's port.
	if taken, err := net.Listen("tcp", ":10259"); err != nil {
		return nil, fmt.Errorf("the port of kube-scheduler is needed: %w", err)
	} else {
		taken.Close()
	}
	s := &stage{options: o, children: children}
	var err error
	// It needs some time before it has samples.
	if s.monitoring, err = startMonitoring(directory, children, loads); err != nil {
		return nil, err
	}
	if s.control, err = controlplane.Start(ctx, o.Real, directory, children); err != nil {
		return nil, err
	}
	for name := range racks {
		if err := s.makeNode(ctx, name); err != nil {
			return nil, err
		}
	}
	if _, err := s.control.StartControllers("deployment-controller", "replicaset-controller"); err != nil {
		return nil, err
	}
	s.kubelet = &kubelet.Kubelet{Control: s.control, Children: children, Images: map[string]kubelet.Image{"berth": kubelet.Berth(o.Berth)}, Host: directory + "/host",
		Names: map[string]string{"prometheus-server.monitoring": prometheusAddress}}
	if err := s.makeHost(); err != nil {
		return nil, err
	}
	return s, s.monitoring.scraped(ctx)
}

func (s *stage) makeNode(ctx context.Context, name string) error {
	room := controlplane.Resources("cpu", "8", "memory", "32Gi", "pods", "110")
	_, err := s.control.Client.CoreV1().Nodes().Create(ctx, controlplane.ReadyNode(name, room, "rack", racks[name]), metav1.CreateOptions{})
	return err
}

// makeHost creates kubeadm's files on the control-plane node.
func (s *stage) makeHost() error {
	path, err := s.control.WriteKubeconfig(s.control.URL, "scheduler", "cert")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.kubelet.Host+"/etc/kubernetes/manifests", 0o755); err != nil {
		return err
	}
	return os.Rename(path, s.kubelet.Host+"/etc/kubernetes/scheduler.conf")
}

// run runs a scenario and clears the cluster.
func (s *stage) run(ctx context.Context, one scenario) error {
	defer s.clear(ctx)
	if !one.replaces {
		scheduler, err := s.control.StartScheduler(s.children, "kube-scheduler", []string{s.Real, "kube-scheduler"}, "default-scheduler", "cert")
		if err != nil {
			return err
		}
		defer scheduler.Stop()
	}
	return one.play(s, ctx)
}

// clear deletes everything but the nodes.
func (s *stage) clear(ctx context.Context) {
	s.stopContainers()
	client, now := s.control.Client, int64(0)
	for _, ns := range []string{"default", "kube-system"} {
		gone := metav1.DeletePropagationBackground
		// There is no garbage collector for dependent objects.
		_ = client.AppsV1().Deployments(ns).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &gone}, metav1.ListOptions{})
		_ = client.AppsV1().ReplicaSets(ns).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &gone}, metav1.ListOptions{})
		_ = client.CoreV1().Pods(ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	}
}

// stopContainers ends all schedulers; they must exit in an orderly way.
func (s *stage) stopContainers() {
	for _, one := range s.running {
		if how := one.Child.Stop(); how != "" {
			s.AddError("%s exited with %s", one.Name, how)
		}
		if s.verbose {
			fmt.Printf("--- %s\n%s---\n", one.Name, one.Logged())
		}
	}
	s.running = nil
}

// --- commands of the tutorials ---

func (s *stage) example(path string) string { return s.examples + "/" + path }

// kubectl returns its output.
func (s *stage) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.control.Kubectl(ctx, nil, args...)
}

// commandLine runs berth, checks its exit code, and returns its output.
func (s *stage) commandLine(ctx context.Context, code int, args ...string) string {
	command := exec.CommandContext(ctx, s.Berth, args...)
	out, _ := command.CombinedOutput()
	if got := command.ProcessState.ExitCode(); got != code {
		s.AddError("berth %s exited with %d, not %d: %s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// converts checks a file of a tutorial, converts it to v1, and checks the result.
func (s *stage) converts(ctx context.Context, example string) {
	converted := s.control.File("converted.yaml")
	s.commandLine(ctx, 0, "config", "check", s.example(example))
	s.commandLine(ctx, 0, "config", "convert", s.example(example), "--output", converted)
	if output := s.commandLine(ctx, 0, "config", "check", converted); !strings.Contains(output, "valid, kubescheduler.config.k8s.io/v1\n") {
		s.AddError("%s converted: %s", example, output)
	}
}

// copyToHost copies a file of a tutorial to the control-plane node, with the changes of the scenario.
func (s *stage) copyToHost(example, path string, change ...string) error {
	text, err := os.ReadFile(s.example(example))
	if err != nil {
		return err
	}
	changed := strings.NewReplacer(change...).Replace(string(text))
	return os.WriteFile(s.kubelet.Host+path, []byte(changed), 0o600)
}

// --- the kubelet ---

// staticPod runs the manifest in the manifests directory, and probes it.
func (s *stage) staticPod(ctx context.Context) (*kubelet.Container, error) {
	text, err := os.ReadFile(s.kubelet.Host + "/etc/kubernetes/manifests/kube-scheduler.yaml")
	if err != nil {
		return nil, err
	}
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return nil, err
	}
	return s.start(ctx, &pod)
}

// placedPod waits until kube-scheduler has bound the pod of a Deployment, and runs it on its node.
func (s *stage) placedPod(ctx context.Context, selector string) (*kubelet.Container, error) {
	pods := s.control.Client.CoreV1().Pods("kube-system")
	var pod *v1.Pod
	err := controlplane.Until(ctx, stepTimeout, "a node for the pod "+selector, func() (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(list.Items) != 1 {
			return false, err
		}
		pod = &list.Items[0]
		return pod.Spec.NodeName != "", nil
	})
	if err != nil {
		return nil, err
	}
	started, err := s.start(ctx, pod)
	if err != nil {
		return nil, err
	}
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &now
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return started, err
}

func (s *stage) start(ctx context.Context, pod *v1.Pod) (*kubelet.Container, error) {
	started, err := s.kubelet.Run(ctx, pod, kubelet.Loopback)
	if err != nil {
		return nil, err
	}
	s.running = append(s.running, started)
	if err := started.Healthy(ctx, stepTimeout); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, started.Logged())
	}
	return started, s.logs(ctx, started, "Caches are synced")
}

// --- observations ---

// logs waits until a container has logged a text.
func (s *stage) logs(ctx context.Context, c *kubelet.Container, text string) error {
	err := controlplane.Until(ctx, stepTimeout, c.Name+" to log "+text, func() (bool, error) {
		if strings.Contains(c.Logged(), text) {
			return true, nil
		}
		if !c.Child.Running() {
			return false, c.Child.Gone()
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.Logged())
	}
	return nil
}

// line finds a log line of a container by its level (I, W, E) and its end; a missing line is an error.
func (s *stage) line(c *kubelet.Container, level byte, text string) {
	for line := range strings.SplitSeq(c.Logged(), "\n") {
		_, message, _ := strings.Cut(line, "] ")
		if strings.HasPrefix(message, text) || strings.HasPrefix(strings.TrimPrefix(message, `"`), text) {
			if line[0] == level {
				return
			}
			s.AddError("logged as %c, not %c: %s", line[0], level, line)
			return
		}
	}
	s.AddError("not logged: %s", text)
}

// nodeOf waits until a pod is bound.
func (s *stage) nodeOf(ctx context.Context, name string) (string, error) {
	return s.control.NodeOf(ctx, stepTimeout, name)
}

// event waits for an event about a pod and returns its note.
func (s *stage) event(ctx context.Context, pod, reason, component string) (string, error) {
	return s.control.EventOf(ctx, stepTimeout, pod, reason, component)
}
