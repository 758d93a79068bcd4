package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

func runHints(args []string, out, errOut io.Writer) error {
	flags := newFlags("hints", "--replay PATH [--from-seed A] [--seeds N]",
		"Compares the queueing hints of berth and of the real plugins for random changes of random clusters. Every event of\n"+
			"a change is evaluated by every plugin for every waiting pod. --out records the hints instead.", errOut)
	replay := flags.String("replay", "", "the hints_replay program")
	first := flags.Uint64("from-seed", 1, "first scenario")
	count := flags.Int("seeds", 200, "number of scenarios")
	path := flags.String("out", "", "the file to record the hints in (zstd-compressed, one scenario per line)")
	show := flags.Bool("show", false, "print one line for each plugin, event and pod with its hint")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := silence()
	switch {
	case *path != "":
		size, err := writeRecording(*path, *count, func(i int) (any, error) { return hintsOfSeed(ctx, *first+uint64(i)) })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%d scenarios, %d KiB\n", *count, size/1024)
		return err
	case *show:
		for i := range *count {
			s, err := hintsOfSeed(ctx, *first+uint64(i))
			if err != nil {
				return err
			}
			s.print(out)
		}
		return nil
	}
	return compareHints(ctx, *replay, *first, *count, out)
}

// hintsOfSeed is the scenario of a seed. The focus alternates as in the corpus, with some clusters with devices.
func hintsOfSeed(ctx context.Context, seed uint64) (*hintScenario, error) {
	focus := corpusFocus(seed)
	if seed%8 == 5 {
		focus = devices
	}
	s, err := generateHints(ctx, seed, focus)
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	return s, nil
}

func compareHints(ctx context.Context, replay string, first uint64, count int, out io.Writer) error {
	started := time.Now()
	r, err := startReplayer(replay)
	if err != nil {
		return err
	}
	total := newHintCounts()
	var failed []uint64
	for i := range count {
		s, err := hintsOfSeed(ctx, first+uint64(i))
		if err != nil {
			return err
		}
		total.add(s)
		answer, err := r.ask(s)
		if err != nil {
			return fmt.Errorf("seed %d: %w", s.Seed, err)
		}
		if answer != "ok" {
			failed = append(failed, s.Seed)
			fmt.Fprintf(out, "seed %d: %s\n", s.Seed, strings.ReplaceAll(answer, "\t", "\n    "))
			fmt.Fprintf(out, "    repeat: oracle hints --replay %s --from-seed %d --seeds 1\n", replay, s.Seed)
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	total.print(out)
	fmt.Fprintf(out, "%d scenarios, %d steps, %d hints, %d scenarios differ, %.0f s (seeds %d to %d)\n", count, total.steps,
		total.hints, len(failed), time.Since(started).Seconds(), first, first+uint64(count)-1)
	if len(failed) > 0 {
		return errors.New("hints differ")
	}
	return nil
}

// hintCounts counts the hints of each letter by plugin and event.
type hintCounts struct {
	steps, hints int
	byPlugin     map[string]map[byte]int
}

func newHintCounts() *hintCounts { return &hintCounts{byPlugin: make(map[string]map[byte]int)} }

func (h *hintCounts) add(s *hintScenario) {
	h.steps += len(s.Steps)
	for _, step := range s.Steps {
		for _, event := range step.Events {
			for plugin, letters := range event.Hints {
				key := plugin + " " + event.Label
				if h.byPlugin[key] == nil {
					h.byPlugin[key] = make(map[byte]int)
				}
				for _, letter := range []byte(letters) {
					if letter != '-' {
						h.byPlugin[key][letter]++
						h.hints++
					}
				}
			}
		}
	}
}

func (h *hintCounts) print(out io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(h.byPlugin)) {
		counts := h.byPlugin[key]
		fmt.Fprintf(out, "%-75s queue %6d  skip %6d  error %4d\n", key, counts['Q']+counts['q'], counts['S']+counts['s'], counts['E'])
	}
}

// print writes one line for each plugin, event and pod.
func (s *hintScenario) print(out io.Writer) {
	for i, step := range s.Steps {
		fmt.Fprintf(out, "seed %d, step %d: %s %s %s\n", s.Seed, i, step.Kind, step.Key, step.Object)
		for _, event := range step.Events {
			for _, plugin := range slices.Sorted(maps.Keys(event.Hints)) {
				for j, letter := range event.Hints[plugin] {
					if letter != '-' {
						fmt.Fprintf(out, "  %s %s %s %c\n", event.Label, plugin, s.Waiting[j], letter)
					}
				}
			}
		}
	}
}
