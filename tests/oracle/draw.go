package main

import (
	"encoding/json"
	"math/rand/v2"
)

// object and array are JSON values. The generator writes JSON rather than typed objects, because the unusual spellings
// that it needs (1e3, a number where kubectl prints a string) do not survive the typed form.
type (
	object = map[string]any
	array  = []any
)

// rng draws all random values from one seed. Nothing may be drawn while ranging over a map, whose order varies between
// runs.
type rng struct{ *rand.Rand }

func newRNG(seed uint64) rng { return rng{rand.New(rand.NewPCG(seed, 0x6265727468))} }

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

// number is a JSON number with exactly this spelling.
func number(text string) json.Number { return json.Number(text) }
