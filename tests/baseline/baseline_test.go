package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func event(kind, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", kind, object)
}

func node(name, cpu string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q},"status":{"allocatable":{"cpu":%q,"memory":"8Gi","pods":"110"}}}`, name, cpu)
}

func pod(name, cpu, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default","uid":%q},"spec":{"schedulerName":"default-scheduler",`+
		`"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":%q}}}]%s}}`, name, name, cpu, more)
}

func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		name     string
		events   []string
		unplaced int
	}{
		{"a pod finds room", []string{event("ADDED", node("a", "1")), event("ADDED", pod("p", "1", ""))}, 0},
		{"the second finds the first in its place", []string{event("ADDED", node("a", "1")), event("ADDED", pod("p", "1", "")), event("ADDED", pod("q", "1", ""))}, 1},
		{"bound pods take their room", []string{event("ADDED", node("a", "1")), event("ADDED", pod("p", "1", `,"nodeName":"a"`)), event("ADDED", pod("q", "1", ""))}, 1},
		{"a node that comes between two pods", []string{event("ADDED", node("a", "1")), event("ADDED", pod("p", "1", "")), event("ADDED", node("b", "1")), event("ADDED", pod("q", "1", ""))}, 0},
		{"a bound pod that goes between two pods", []string{event("ADDED", node("a", "2")), event("ADDED", pod("b", "1", `,"nodeName":"a"`)), event("ADDED", pod("p", "1", "")),
			event("DELETED", pod("b", "1", `,"nodeName":"a"`)), event("ADDED", pod("q", "1", ""))}, 0},
		{"victims stay, so that every attempt finds the same cluster", []string{event("ADDED", node("a", "1")), event("ADDED", pod("low", "1", `,"nodeName":"a"`)),
			event("ADDED", pod("p", "1", `,"priority":10`)), event("ADDED", pod("q", "1", `,"priority":10`))}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseScenario(strings.NewReader(strings.Join(c.events, "")))
			if err != nil {
				t.Fatal(err)
			}
			for _, all := range []bool{false, true} {
				config, err := loadConfig("", all)
				if err != nil {
					t.Fatal(err)
				}
				r, err := decideAll(config, s, len(s.turns))
				if err != nil {
					t.Fatal(err)
				}
				if r.Unplaced != c.unplaced || r.Pods != len(s.turns) || r.Value <= 0 || r.P50Micros > r.MaxMicros {
					t.Errorf("expected %d pods without a node, got %+v", c.unplaced, r)
				}
			}
		})
	}
}

func TestInvalidScenarios(t *testing.T) {
	for _, c := range []struct{ name, text, expect string }{
		{"no pending pod", event("ADDED", node("a", "1")), "there is no pending pod"},
		{"no JSON", "what?\n", "line 1: invalid character"},
		{"an unknown kind", event("ADDED", `{"apiVersion":"v1","kind":"Pot"}`), `line 1: no kind "Pot" is registered`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parseScenario(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.expect) {
				t.Errorf("expected %q, got %v", c.expect, err)
			}
		})
	}
}

func TestConfigurations(t *testing.T) {
	path := t.TempDir() + "/scheduler.yaml"
	if err := os.WriteFile(path, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for all, expect := range map[bool]int32{false: 30, true: 100} {
		config, err := loadConfig(path, all)
		if err != nil {
			t.Fatal(err)
		}
		if got := *config.PercentageOfNodesToScore; got != expect || config.Parallelism != 16 || len(config.Profiles) != 1 {
			t.Errorf("expected %d percent, got %d with %+v", expect, got, config)
		}
	}
}
