package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

func runSequences(args []string, out, errOut io.Writer) error {
	flags := newFlags("sequences", "--replay PATH [--from-seed A] [--seeds N] [--nodes N]",
		"Schedules pods one after the other on changing clusters, with berth's equivalence cache enabled, and compares\n"+
			"every record with the real plugins. Each pod stays on the node that berth has chosen. --out records sequences\n"+
			"instead; it leaves out those with random choices or sampling.", errOut)
	replay := flags.String("replay", "", "the sequence_replay program")
	first := flags.Uint64("from-seed", 1, "first sequence")
	count := flags.Int("seeds", 20, "number of sequences")
	nodes := flags.Int("nodes", 0, "number of nodes; 0: from 20 to 200")
	show := flags.Bool("show", false, "print one sequence as the replay program reads it")
	path := flags.String("out", "", "the file to record sequences in (zstd-compressed, one per line)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *show {
		s, err := generateSequence(*first, *nodes)
		if err != nil {
			return err
		}
		text, err := toJSON(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	ctx := silence()
	r, err := startReplayer(*replay)
	if err != nil {
		return err
	}
	if *path != "" {
		return recordSequences(ctx, r, *path, *first, *count, *nodes, out)
	}
	c := &sequenceComparison{replayer: r, ctx: ctx, started: time.Now(), results: make(map[string]int)}
	for i := range *count {
		seed := *first + uint64(i)
		difference, err := c.compare(seed, *nodes)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if difference != "" {
			c.failed++
			fmt.Fprintf(out, "seed %d: %s\n  repeat: oracle sequences --replay %s --from-seed %d --seeds 1 --nodes %d\n", seed, difference,
				*replay, seed, *nodes)
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d sequences (%d random, %d sampled), %d decisions (%d scheduled, %d unschedulable, %d errors), %d sequences differ, %.0f s (seeds %d to %d)\n",
		*count, c.random, c.sampled, c.decisions, c.results[resultScheduled], c.results[resultUnschedulable], c.results[resultError],
		c.failed, time.Since(c.started).Seconds(), *first, *first+uint64(*count)-1)
	if c.failed > 0 {
		return errors.New("sequences differ")
	}
	return nil
}

type sequenceComparison struct {
	replayer                           *replayer
	ctx                                context.Context
	started                            time.Time
	failed, random, sampled, decisions int
	results                            map[string]int
}

// compare returns the first difference of a sequence; empty: there is none.
func (c *sequenceComparison) compare(seed uint64, nodes int) (string, error) {
	s, err := generateSequence(seed, nodes)
	if err != nil {
		return "", err
	}
	if s.Random {
		c.random++
	}
	if s.sampled {
		c.sampled++
	}
	return s.compare(c.ctx, c.replayer, func(record *Record) {
		c.decisions++
		c.results[record.Result]++
	})
}

// compare runs the sequence on both sides. The records are stored in the steps.
func (s *sequence) compare(ctx context.Context, r *replayer, visit func(*Record)) (string, error) {
	answer, err := r.ask(s)
	if err != nil {
		return "", err
	}
	var records []string
	if err := json.Unmarshal([]byte(answer), &records); err != nil {
		return answer, nil // the replay program has reported an error
	}
	return s.run(ctx, records, visit)
}

// run compares Berth's records with those of the real plugins.
func (s *sequence) run(ctx context.Context, records []string, visit func(*Record)) (string, error) {
	restore, err := setGates(s.Gates)
	if err != nil {
		return "", err
	}
	defer restore()
	run, err := s.start(ctx)
	if err != nil {
		return "", err
	}
	defer run.cluster.close()
	for i := range s.Steps {
		step := &s.Steps[i]
		switch {
		case step.Confirm != "":
			err = run.confirm(step.Confirm)
		case step.Decide != "":
			if len(records) == 0 {
				return fmt.Sprintf("step %d: no record", i), nil
			}
			record, difference, err := run.decide(step.Decide, records[0])
			if err != nil {
				return "", fmt.Errorf("step %d: %w", i, err)
			}
			if difference != "" {
				return fmt.Sprintf("step %d: pod %s: %s", i, step.Decide, difference), nil
			}
			visit(record)
			step.Record, records = records[0], records[1:]
		case step.Kind != "":
			err = run.apply(step.change)
		}
		if err != nil {
			return "", fmt.Errorf("step %d: %w", i, err)
		}
	}
	return "", nil
}

func recordSequences(ctx context.Context, r *replayer, path string, seed uint64, count, nodes int, out io.Writer) error {
	size, err := writeRecording(path, count, func(int) (any, error) {
		for {
			s, err := generateSequence(seed, nodes)
			seed++
			if err != nil {
				return nil, err
			}
			if s.Random || s.sampled {
				continue
			}
			difference, err := s.compare(ctx, r, func(*Record) {})
			if err == nil && difference != "" {
				err = errors.New(strings.TrimSpace(difference))
			}
			return s, err
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d sequences, %d KiB\n", count, size/1024)
	return err
}
