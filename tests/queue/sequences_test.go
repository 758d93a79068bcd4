package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestMain(m *testing.M) {
	silence()
	os.Exit(m.Run())
}

func TestTheRecordedSequencesAreStillWhatTheRealQueueDoes(t *testing.T) {
	file, err := os.Open("sequences.ndjson.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<24)
	sequences := 0
	for lines.Scan() {
		var recorded sequence
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			t.Fatal(err)
		}
		now, err := json.Marshal(again(recorded, recorded.Steps))
		if err != nil {
			t.Fatal(err)
		}
		if string(now) != lines.Text() {
			t.Errorf("seed %d: the real queue does something else now; record it again", recorded.Seed)
		}
		sequences++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if sequences < 100 {
		t.Errorf("only %d sequences", sequences)
	}
}

// Operations that never occur are not compared.
func TestTheSequencesVisitEveryPlaceForEveryReason(t *testing.T) {
	wanted := map[string]int{
		"pod in active": 0, "pod in backoff": 0, "pod in unschedulable": 0, "pod in gated": 0, "nominated": 0,
		"pod in incomplete": 0, "group in active": 0, "group in backoff": 0, "group in gated": 0,
		"active BackoffComplete": 0, "active PopFromBackoffQ": 0, "active ForceActivate": 0, "active UnschedulableTimeout": 0,
		"active ScheduleAttemptFailure": 0, "active Node": 0, "active AssignedPod": 0, "active TargetPod": 0, "active PersistentVolumeClaim": 0,
		"backoff UnschedulableTimeout": 0, "backoff ScheduleAttemptFailure": 0, "backoff Node": 0, "backoff AssignedPod": 0,
		"backoff TargetPod": 0, "backoff PersistentVolumeClaim": 0, "unschedulable ScheduleAttemptFailure": 0,
		"unschedulable UnschedulableTimeout": 0, "unschedulable Node": 0, "unschedulable UnscheduledPodAdd": 0,
	}
	for seed := range uint64(300) {
		for _, done := range generate(seed+1, seed%2 == 1, false).Steps {
			for key, value := range done.Set {
				switch {
				case strings.HasPrefix(key, "pod "):
					wanted["pod in "+strings.Fields(value)[0]]++
				case strings.HasPrefix(key, "group "):
					wanted["group in "+strings.Fields(value)[0]]++
				case strings.HasPrefix(key, "nominated"):
					wanted["nominated"]++
				case strings.HasPrefix(key, "incoming "):
					for what := range wanted {
						if strings.HasPrefix(key[9:], what) {
							wanted[what]++
						}
					}
				}
			}
		}
	}
	for what, times := range wanted {
		t.Logf("%s: %d times", what, times)
		if times < 10 {
			t.Errorf("%s: seen %d times", what, times)
		}
	}
}

func TestASequenceFollowsFromItsSeed(t *testing.T) {
	first, _ := json.Marshal(generate(5, true, false))
	second, _ := json.Marshal(generate(5, true, false))
	if string(first) != string(second) {
		t.Error("the same seed gave two sequences")
	}
}
