package main

import (
	"fmt"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// switchedGates are the feature gates that change decisions and hints in both schedulers. All are on by default. Gates of
// one entry are switched together, because one requires the other.
var switchedGates = [][]string{
	{"MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge"},
	{"StorageCapacityScoring"},
	{"VolumeLimitScaling"},
}

// gates draws the feature gates that are off, as a value of --feature-gates; empty: none.
func (g *generator) gates() string {
	var off []string
	if g.chance(0.25) {
		for _, names := range some(g.rng, g.between(1, 2), switchedGates) {
			for _, name := range names {
				off = append(off, name+"=false")
			}
		}
	}
	return strings.Join(off, ",")
}

// setGates switches the gates of the real plugins, and returns a function that restores them. The gates are global, so
// only one scenario can have gates at a time.
func setGates(gates string) (restore func(), err error) {
	if gates == "" {
		return func() {}, nil
	}
	var before []string
	for _, gate := range strings.Split(gates, ",") {
		name, _, _ := strings.Cut(gate, "=")
		before = append(before, fmt.Sprintf("%s=%t", name, utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))))
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		return nil, err
	}
	return func() {
		if err := utilfeature.DefaultMutableFeatureGate.Set(strings.Join(before, ",")); err != nil {
			panic(err) // they were like that before
		}
	}, nil
}

// withoutShapes removes the arguments that a gate adds.
func withoutShapes(config object) {
	for _, profile := range config["profiles"].(array) {
		args, _ := profile.(object)["pluginConfig"].(array)
		for _, arg := range slices.Clone(args) {
			if arg.(object)["name"] == "VolumeBinding" {
				delete(arg.(object)["args"].(object), "shape")
			}
		}
	}
}
