package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// An exemption must name something that kube-scheduler has.
func TestNeedlessExemptions(t *testing.T) {
	none := &exposition{map[string]*dto.MetricFamily{}}
	found := needlessExemptions(none, none)
	var exempt []string
	for name := range absent {
		exempt = append(exempt, name)
	}
	for name := range byChance {
		exempt = append(exempt, name)
	}
	for _, pattern := range otherComponents {
		exempt = append(exempt, fmt.Sprint(pattern))
	}
	for _, libraries := range ofLibraries {
		exempt = append(exempt, fmt.Sprint(libraries.families))
	}
	for _, name := range exempt {
		if !slices.ContainsFunc(found, func(text string) bool { return strings.HasPrefix(text, name+": ") }) {
			t.Errorf("%s is exempt although kube-scheduler does not have it", name)
		}
	}
}
