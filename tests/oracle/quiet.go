package main

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// silence keeps kube-scheduler's log lines out of the output: it logs every rejected pod as an error, and for
// the oracle a rejected pod is an ordinary answer.
func silence() context.Context {
	klog.SetLogger(logr.Discard())
	return klog.NewContext(context.Background(), logr.Discard())
}
