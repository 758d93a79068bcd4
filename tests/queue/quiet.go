package main

import (
	"errors"
	"math/rand/v2"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

var errNoFile = errors.New("--out is missing: the file to write")

// silence discards the queue's log lines: failing hints are expected here.
func silence() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	// Without groups in a sequence, the gate changes nothing.
	if err := utilfeature.DefaultMutableFeatureGate.Set("GenericWorkload=true"); err != nil {
		panic(err)
	}
	metrics.Register()
}

// enableTrees switches on the gate of composite groups.
func enableTrees() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"); err != nil {
		panic(err)
	}
}

// rng draws all random values from one seed. Nothing may be drawn while ranging over a map, whose order varies between
// runs.
type rng struct{ *rand.Rand }

func newRNG(seed uint64) rng { return rng{rand.New(rand.NewPCG(seed, 0x71756575))} }

// chance is true with a probability of p.
func (d rng) chance(p float64) bool { return d.Float64() < p }

// between draws from low to high, both included.
func (d rng) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d rng, from ...T) T { return from[d.IntN(len(from))] }

// some draws up to n elements in the given order, without repetition.
func some[T any](d rng, n int, from []T) []T {
	var out []T
	for i, v := range from {
		if d.IntN(len(from)-i) < n-len(out) {
			out = append(out, v)
		}
	}
	return out
}
