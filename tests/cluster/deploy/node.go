package main

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

// nodes runs the pods of kube-system.
type nodes struct {
	*stage
	pods *kubelet.Nodes
}

// startNodes starts the simulation; the returned function stops it and the pods.
func (s *stage) startNodes(ctx context.Context) (*nodes, func()) {
	pods, stop := s.kubelet.StartNodes(ctx, system, s.AddError)
	return &nodes{s, pods}, stop
}

// replicas are the running containers by pod name.
func (n *nodes) replicas() map[string]*kubelet.Container { return n.pods.Replicas() }

// leader is the replica that holds the lease; a replica's identity begins with its pod's name.
func (n *nodes) leader(ctx context.Context) (string, error) {
	leader := ""
	err := controlplane.Until(ctx, stepTimeout, "a replica to hold the lease berth", func() (bool, error) {
		holder, err := n.holder(ctx, "berth")
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		for name := range n.replicas() {
			if strings.HasPrefix(holder, name+"_") {
				leader = name
			}
		}
		return leader != "", nil
	})
	return leader, err
}

// checkLogs checks that no replica was denied a request.
func (n *nodes) checkLogs(context.Context) error {
	n.pods.CheckLogs()
	return nil
}
