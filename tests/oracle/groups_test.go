package main

import (
	"encoding/json"
	"testing"
)

func TestTheRecordedGroupsAreStillThoseOfKubeScheduler(t *testing.T) {
	ctx := silence()
	seen := make(map[string]int)
	err := readRecording("groups.ndjson.zst", func(line []byte) error {
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
	for _, what := range []string{"Scheduled", "Unschedulable", "SchedulerError", "bound", "failed", "nominated"} {
		if seen[what] == 0 {
			t.Errorf("never seen: %s", what)
		}
	}
}
