package controlplane

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubectl runs the administrator's kubectl and returns its output; input may be nil. The error of a failed
// run contains its message.
func (c *ControlPlane) Kubectl(ctx context.Context, input io.Reader, args ...string) (string, error) {
	command := exec.CommandContext(ctx, c.program, append([]string{"kubectl", "--kubeconfig=" + c.AdminKubeconfig}, args...)...)
	command.Stdin = input
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// NodeOf waits until a pod of the namespace default is bound, and returns its node.
func (c *ControlPlane) NodeOf(ctx context.Context, timeout time.Duration, name string) (string, error) {
	node := ""
	err := Until(ctx, timeout, "a node for "+name, func() (bool, error) {
		pod, err := c.Client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		node = pod.Spec.NodeName
		return node != "", nil
	})
	return node, err
}

// EventOf waits for a component's event about a pod of the namespace default, and returns its note.
func (c *ControlPlane) EventOf(ctx context.Context, timeout time.Duration, pod, reason, component string) (string, error) {
	note := ""
	err := Until(ctx, timeout, fmt.Sprintf("the event %s of %s", reason, pod), func() (bool, error) {
		list, err := c.Client.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == pod && e.Reason == reason && e.ReportingController == component {
				note = e.Note
				return true, nil
			}
		}
		return false, nil
	})
	return note, err
}
