package main

import (
	"encoding/json"
	"math/rand/v2"
)

// object and array are JSON values. The generator writes JSON rather than typed objects, since the odd
// spellings it is after (1e3, a number where kubectl prints a string) do not survive the typed form.
type (
	object = map[string]any
	array  = []any
)

// dice draws everything random from one seed. Nothing may be drawn while ranging over a map: that order
// changes from run to run.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x6265727468))} }

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

// number is a JSON number spelled exactly so.
func number(text string) json.Number { return json.Number(text) }
