package controlplane

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Apply applies the manifests as the administrator.
func (c *ControlPlane) Apply(ctx context.Context, manifests ...string) error {
	_, err := c.Kubectl(ctx, strings.NewReader(strings.Join(manifests, "\n---\n")), "apply", "-f", "-")
	return err
}

// CreateNode creates a node and writes its status.
func (c *ControlPlane) CreateNode(ctx context.Context, node *v1.Node) error {
	created, err := c.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = node.Status
	_, err = c.Client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// BoundPods are the pods with a node, sorted: "namespace/name".
func (c *ControlPlane) BoundPods(ctx context.Context) ([]string, error) {
	pods, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// UntilBound waits until the bound pods satisfy `holds`. An error names those that were bound last.
func (c *ControlPlane) UntilBound(ctx context.Context, timeout time.Duration, what string, holds func(bound []string) bool) error {
	var last []string
	err := Until(ctx, timeout, what, func() (bool, error) {
		var err error
		last, err = c.BoundPods(ctx)
		return err == nil && holds(last), err
	})
	if err != nil {
		return fmt.Errorf("%w; bound are %q", err, last)
	}
	return nil
}

// UntilBoundFor is UntilBound, and checks that it still holds when the time `quiet` has passed.
func (c *ControlPlane) UntilBoundFor(ctx context.Context, quiet, timeout time.Duration, what string, holds func(bound []string) bool) error {
	if err := c.UntilBound(ctx, timeout, what, holds); err != nil {
		return err
	}
	if err := Pause(ctx, quiet); err != nil {
		return err
	}
	last, err := c.BoundPods(ctx)
	if err != nil {
		return err
	}
	if !holds(last) {
		return fmt.Errorf("%s did not last: bound are %q", what, last)
	}
	return nil
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

// DeletePod deletes a pod of the namespace "default", unless it is gone.
func (c *ControlPlane) DeletePod(ctx context.Context, name string) error {
	err := c.Client.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
