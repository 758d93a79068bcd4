package main

import (
	"errors"
	"math/rand/v2"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

var errNoFile = errors.New("--out is missing: the file to write")

// silence keeps the queue's log lines out of the output: failing hints are ordinary here.
func silence() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	metrics.Register()
}

// dice draws everything random from one seed. Nothing may be drawn while ranging over a map: that order
// changes from run to run.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x71756575))} }

// chance is true with a probability of p.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some draws up to n elements, in the order given, without repetition.
func some[T any](d dice, n int, from []T) []T {
	var out []T
	for i, v := range from {
		if d.IntN(len(from)-i) < n-len(out) {
			out = append(out, v)
		}
	}
	return out
}
