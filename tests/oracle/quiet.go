package main

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// silence discards kube-scheduler's log lines: it logs every rejected pod as an error, and for the oracle a rejected
// pod is an ordinary result.
func silence() context.Context {
	klog.SetLogger(logr.Discard())
	return klog.NewContext(context.Background(), logr.Discard())
}
