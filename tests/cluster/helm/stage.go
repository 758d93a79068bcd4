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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

// stepTimeout is the timeout of a step; a lease that is not released lasts 15 s.
const stepTimeout = 45 * time.Second

// system is the namespace of the releases.
const system = "kube-system"

// stage is the cluster of a test.
type stage struct {
	*options
	controlplane.Errors
	helm      string // the Helm of the current scenario
	directory string
	control   *controlplane.ControlPlane
	children  *controlplane.Children
	kubelet   *kubelet.Kubelet
	pods      *kubelet.Nodes // runs the pods during withPods
}

func setUp(ctx context.Context, o *options, directory string, children *controlplane.Children) (*stage, error) {
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return nil, err
	}
	s := &stage{options: o, directory: directory, control: control, children: children}
	for _, name := range []string{"node1", "node2"} {
		room := controlplane.Resources("cpu", "16", "memory", "64Gi", "pods", "110")
		node := controlplane.ReadyNode(name, room, v1.LabelOSStable, "linux")
		if _, err := control.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	if _, err := control.StartControllers("deployment-controller", "replicaset-controller", "disruption-controller",
		"endpointslice-controller", "garbage-collector-controller", "serviceaccount-token-controller"); err != nil {
		return nil, err
	}
	s.kubelet = &kubelet.Kubelet{Control: control, Children: children, Host: directory + "/host",
		Images: map[string]kubelet.Image{"berth": kubelet.Berth(o.Berth)}}
	return s, nil
}

// withPods runs the steps while the pods of kube-system run. The error of a failed step has the last lines of all logs.
func (s *stage) withPods(ctx context.Context, steps ...func(context.Context) error) error {
	var stop func()
	s.pods, stop = s.kubelet.StartNodes(ctx, system, s.AddError)
	defer stop()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			for name, c := range s.pods.Replicas() {
				lines := strings.Split(strings.TrimSpace(c.Logged()), "\n")
				err = fmt.Errorf("%w\n%s: ...\n%s", err, name, strings.Join(lines[max(0, len(lines)-15):], "\n"))
			}
			return err
		}
	}
	return nil
}

// checked is a step: no container may have logged an error or a denied request so far.
func (s *stage) checked(context.Context) error {
	s.pods.CheckLogs()
	return nil
}

// kubeScheduler starts the real scheduler, which places Berth's pods. With `leads` it takes part in the leader election.
func (s *stage) kubeScheduler(name string, leads bool) (*controlplane.Child, error) {
	return s.control.StartScheduler(s.children, name, []string{s.Real, "kube-scheduler"}, "default-scheduler", "cert", fmt.Sprintf("--leader-elect=%t", leads))
}

// --- commands ---

// run runs a program and returns its standard output; a failure is an error with all output.
func (s *stage) run(ctx context.Context, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = s.directory
	// Helm's own directories are those of this run.
	command.Env = append(os.Environ(), "KUBECONFIG="+s.control.AdminKubeconfig, "HOME="+s.directory, "PATH="+s.directory+"/bin:"+os.Getenv("PATH"))
	var out, log strings.Builder
	command.Stdout, command.Stderr = &out, &log
	err := command.Run()
	all := log.String() + out.String()
	if s.verbose {
		fmt.Printf("$ %s %s\n%s", filepath.Base(program), strings.Join(args, " "), all)
	}
	if err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(all))
	}
	return out.String(), nil
}

// helmDoes runs Helm in the namespace of the releases.
func (s *stage) helmDoes(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, s.helm, append(args, "--namespace", system)...)
}

// install installs or upgrades a release with these values, and waits for its pods.
func (s *stage) install(ctx context.Context, release, values string, more ...string) (string, error) {
	file := s.control.File(release + "-values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		return "", err
	}
	return s.helmDoes(ctx, append([]string{"upgrade", "--install", release, s.chart, "--wait", "--timeout", "60s", "--values", file}, more...)...)
}

// uninstall removes a release; nothing of it may be left.
func (s *stage) uninstall(ctx context.Context, release string) error {
	if _, err := s.helmDoes(ctx, "uninstall", release, "--wait"); err != nil {
		return err
	}
	err := controlplane.Until(ctx, stepTimeout, "the pods to end", func() (bool, error) { return len(s.pods.Replicas()) == 0, nil })
	if err != nil {
		return err
	}
	left, err := s.control.Kubectl(ctx, nil, "get", "--all-namespaces", "-o", "name", "-l", "app.kubernetes.io/instance="+release,
		"deployments,replicasets,pods,services,configmaps,serviceaccounts,poddisruptionbudgets,networkpolicies,roles,rolebindings,clusterroles,clusterrolebindings")
	if err != nil {
		return err
	}
	if strings.TrimSpace(left) != "" && !strings.Contains(left, "No resources found") {
		s.AddError("helm uninstall %s leaves %s", release, left)
	}
	return nil
}

// --- observations ---

// placed creates a pod and waits until this scheduler has bound it.
func (s *stage) placed(ctx context.Context, name, schedulerName, component string) error {
	_, err := s.control.Client.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{SchedulerName: schedulerName, Containers: []v1.Container{{Name: "c", Image: "example/app",
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "10m")}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := s.control.NodeOf(ctx, stepTimeout, name); err != nil {
		return err
	}
	_, err = s.control.EventOf(ctx, stepTimeout, name, "Scheduled", component)
	return err
}

// holder waits until a running pod holds the lease, and returns the pod's name: a replica's identity begins with it.
func (s *stage) holder(ctx context.Context, lease string) (string, error) {
	leader := ""
	err := controlplane.Until(ctx, stepTimeout, "a replica to hold the lease "+lease, func() (bool, error) {
		found, err := s.control.Client.CoordinationV1().Leases(system).Get(ctx, lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil || found.Spec.HolderIdentity == nil {
			return false, err
		}
		for name := range s.pods.Replicas() {
			if strings.HasPrefix(*found.Spec.HolderIdentity, name+"_") {
				leader = name
			}
		}
		return leader != "", nil
	})
	return leader, err
}
