package main

import (
	"encoding/json"
	"testing"
)

func TestTheRecordedGroupsAreStillThoseOfKubeScheduler(t *testing.T) {
	repeatRecording(t, "groups.ndjson.zst", "Scheduled", "Unschedulable", "SchedulerError", "bound", "failed", "nominated")
}

func TestTheRecordedSinglePodsAreStillThoseOfKubeScheduler(t *testing.T) {
	repeatRecording(t, "single_pods.ndjson.zst", "bound", "failed", "backoff", "unschedulable", "gated")
}

// repeatRecording runs the scenarios again. Each of what must have been seen.
func repeatRecording(t *testing.T, file string, what ...string) {
	ctx := silence()
	seen := make(map[string]int)
	err := readRecording(file, func(line []byte) error {
		var recorded groupScenario
		if err := json.Unmarshal(line, &recorded); err != nil {
			return err
		}
		var results []string
		for _, step := range recorded.Steps {
			results = append(results, step.Result)
		}
		difference, _, err := recorded.run(ctx, results, func(result *groupResult) { countGroups(result, seen) })
		if difference != "" {
			t.Errorf("seed %d: %s; record it again", recorded.Seed, difference)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range what {
		if seen[one] == 0 {
			t.Errorf("never seen: %s", one)
		}
	}
}
