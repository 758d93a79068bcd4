package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

// stepTimeout is the timeout of a step; a lease that is not released lasts 15 s.
const stepTimeout = 45 * time.Second

// system is the namespace of all deployments.
const system = "kube-system"

// The two nodes that accept pods; the fake Prometheus reports load for one.
const idleNode, busyNode = "node1", "node2"

// stage is the cluster of a test.
type stage struct {
	*options
	controlplane.Errors
	directory string
	control   *controlplane.ControlPlane
	children  *controlplane.Children
	kubelet   *kubelet.Kubelet

	typed map[string]bool // command lines that were run
}

func setUp(ctx context.Context, o *options, directory string, children *controlplane.Children, apiServerFlags ...string) (*stage, error) {
	control, err := controlplane.Start(ctx, o.Real, directory, children, apiServerFlags...)
	if err != nil {
		return nil, err
	}
	s := &stage{options: o, directory: directory, control: control, children: children, typed: make(map[string]bool)}
	for _, name := range []string{idleNode, busyNode} {
		if err := s.makeNode(ctx, name); err != nil {
			return nil, err
		}
	}
	if _, err := control.StartControllers("deployment-controller", "replicaset-controller", "disruption-controller",
		"endpointslice-controller", "garbage-collector-controller", "serviceaccount-token-controller"); err != nil {
		return nil, err
	}
	if err := os.Symlink(o.Real, control.File("kubectl")); err != nil {
		return nil, err
	}
	s.kubelet = &kubelet.Kubelet{Control: control, Children: children, Host: directory + "/host",
		Names: map[string]string{"prometheus-server.monitoring": prometheusAddress},
		Images: map[string]kubelet.Image{
			"berth":          kubelet.Berth(o.Berth),
			"kube-scheduler": {Program: o.Real, EntryPoint: "kube-scheduler"},
		}}
	return s, nil
}

func (s *stage) makeNode(ctx context.Context, name string) error {
	room := controlplane.Resources("cpu", "16", "memory", "64Gi", "pods", "110")
	_, err := s.control.Client.CoreV1().Nodes().Create(ctx, controlplane.ReadyNode(name, room, v1.LabelOSStable, "linux"), metav1.CreateOptions{})
	return err
}

// --- commands of the guide ---

// kubectl returns its output.
func (s *stage) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.shell(ctx, s.Real, append([]string{"kubectl", "--kubeconfig=" + s.control.AdminKubeconfig}, args...)...)
}

// types runs a command line of the guide unchanged in the root of the tree, and returns its output.
func (s *stage) types(ctx context.Context, line string) (string, error) {
	s.typed[line] = true
	// In the guide the command runs on the node itself.
	line = strings.Replace(line, "deploy/static-pod/replace", "deploy/static-pod/replace --manifests="+s.kubelet.Host+"/etc/kubernetes/manifests", 1)
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.Dir = filepath.Dir(s.deploy)
	command.Env = append(os.Environ(), "PATH="+s.directory+":"+os.Getenv("PATH"), "KUBECONFIG="+s.control.AdminKubeconfig)
	out, err := command.CombinedOutput()
	if s.verbose {
		fmt.Printf("$ %s\n%s", line, out)
	}
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// shows runs a command line and checks its output.
func (s *stage) shows(ctx context.Context, line string, expected ...string) error {
	output, err := s.types(ctx, line)
	for _, text := range expected {
		if err == nil && !strings.Contains(output, text) {
			s.AddError("%s does not show %q: %s", line, text, output)
		}
	}
	return err
}

// checkGuide checks that all commands of a page were run.
func (s *stage) checkGuide(page string) error {
	text, err := os.ReadFile(filepath.Join(s.guide, page))
	if err != nil {
		return err
	}
	commands := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if command, is := strings.CutPrefix(line, "    $ "); is {
			commands++
			if !s.typed[command] {
				s.AddError("%s has a command that was not run: %s", page, command)
			}
		}
	}
	if commands == 0 {
		s.AddError("%s has no commands", page)
	}
	return nil
}

// shell runs a program and returns its output; a failure is an error with the output.
func (s *stage) shell(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if s.verbose {
		fmt.Printf("$ %s %s\n%s", filepath.Base(program), strings.Join(args, " "), out)
	}
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// kustomization writes a kustomization outside of deploy; its paths are those in deploy.
func (s *stage) kustomization(name, resource string, components ...string) (string, error) {
	folder := filepath.Join(s.directory, "kustomize", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	up, err := filepath.Rel(folder, s.deploy)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("resources:\n- %s\ncomponents:\n", filepath.Join(up, resource))
	for _, component := range components {
		text += "- " + filepath.Join(up, component) + "\n"
	}
	return folder, os.WriteFile(folder+"/kustomization.yaml", []byte(text), 0o644)
}

func (s *stage) makePod(ctx context.Context, name, scheduler string) error {
	_, err := s.control.Client.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{SchedulerName: scheduler, Containers: []v1.Container{{Name: "c", Image: "example/app",
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "10m")}}}},
	}, metav1.CreateOptions{})
	return err
}

// --- observations ---

// placed creates a pod and waits until it is bound.
func (s *stage) placed(ctx context.Context, name, scheduler string) (node string, err error) {
	if err := s.makePod(ctx, name, scheduler); err != nil {
		return "", err
	}
	return s.bound(ctx, name, scheduler)
}

// bound waits until a pod is bound and has the event of a scheduler.
func (s *stage) bound(ctx context.Context, name, scheduler string) (node string, err error) {
	if node, err = s.control.NodeOf(ctx, stepTimeout, name); err != nil {
		return "", err
	}
	_, err = s.control.EventOf(ctx, stepTimeout, name, "Scheduled", scheduler)
	return node, err
}

// holder is the holder of a lease; empty if there is none.
func (s *stage) holder(ctx context.Context, lease string) (string, error) {
	found, err := s.control.Client.CoordinationV1().Leases(system).Get(ctx, lease, metav1.GetOptions{})
	if err != nil || found.Spec.HolderIdentity == nil {
		return "", err
	}
	return *found.Spec.HolderIdentity, nil
}
