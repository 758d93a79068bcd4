package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

func runGroups(args []string, out, errOut io.Writer) error {
	flags := newFlags("groups", "--replay PATH [--from-seed A] [--seeds N] [--nodes N] [--single | --preemption] [--trees]",
		"Schedules pod groups on changing clusters with the whole kube-scheduler and the whole of berth, and compares all\n"+
			"writes, events and what waits in the queue. --out records scenarios instead; it leaves out those with sampling.", errOut)
	replay := flags.String("replay", "", "the group_replay program")
	first := flags.Uint64("from-seed", 1, "first scenario")
	count := flags.Int("seeds", 20, "number of scenarios")
	var o groupOptions
	flags.IntVar(&o.nodes, "nodes", 0, "number of nodes; 0: from 5 to 140")
	flags.BoolVar(&o.preemption, "preemption", false, "groups may evict pods of lower priority")
	flags.BoolVar(&o.volumes, "volumes", false, "members have claims, and their bindings fail")
	flags.BoolVar(&o.single, "single", false, "without groups: pods and objects of all kinds change while pods wait in the queue")
	flags.BoolVar(&o.devices, "devices", false, "groups and members have claims of devices")
	flags.BoolVar(&o.trees, "trees", false, "composite groups form trees with 1 to 4 levels")
	show := flags.Bool("show", false, "print one scenario as the replay program reads it")
	path := flags.String("out", "", "the file to record scenarios in (zstd-compressed, one per line)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.single && o.preemption {
		return errors.New("--single cannot be combined with --preemption: an update could bring back a pod that was evicted")
	}
	if *show {
		s, err := generateGroups(*first, o)
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
		return recordGroups(ctx, r, *path, *first, *count, o, out)
	}
	started := time.Now()
	failed, byChance, seen := 0, 0, make(map[string]int)
	for i := range *count {
		seed := *first + uint64(i)
		s, err := generateGroups(seed, o)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		difference, cycles, err := s.compare(ctx, r, func(result *groupResult) { countGroups(result, seen) })
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		for kind, n := range cycles {
			seen[kind] += n
		}
		if difference != "" {
			equal, err := s.equalsAnotherRun(ctx, r)
			if err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			if equal {
				byChance++
				continue
			}
			failed++
			fmt.Fprintf(out, "seed %d: %s\n  repeat: oracle groups --replay %s --from-seed %d --seeds 1 --nodes %d%s\n", seed, difference, *replay, seed, o.nodes, o.flags())
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d scenarios, %d cycles of groups (%d scheduled, %d unschedulable, %d errors), %d pods bound, %d failures of members, %d reservations for groups, %d equal another run of kube-scheduler, %d differ, %.0f s (seeds %d to %d)\n",
		*count, seen["groups"], seen["Scheduled"], seen["Unschedulable"], seen["SchedulerError"], seen["bound"], seen["failed"], seen["claims of groups"], byChance, failed,
		time.Since(started).Seconds(), *first, *first+uint64(*count)-1)
	if failed > 0 {
		return errors.New("scenarios differ")
	}
	return nil
}

// flags are the options of the command line.
func (o groupOptions) flags() (text string) {
	for _, flag := range []struct {
		name string
		set  bool
	}{{"preemption", o.preemption}, {"volumes", o.volumes}, {"devices", o.devices}, {"single", o.single}, {"trees", o.trees}} {
		if flag.set {
			text += " --" + flag.name
		}
	}
	return text
}

// equalsAnotherRun returns whether Berth's results equal those of one of the next runs of kube-scheduler. It validates the
// scheduled members of a group in random order, so its error may name any invalid member.
func (s *groupScenario) equalsAnotherRun(ctx context.Context, r *replayer) (bool, error) {
	results, problem, err := s.ask(r)
	if err != nil || problem != "" {
		return false, err
	}
	for range 400 {
		difference, _, err := s.run(ctx, results, nil)
		if err != nil || difference == "" {
			return err == nil, err
		}
	}
	return false, nil
}

// countGroups counts reasons of conditions, plugins of rejections, and places in the queue.
func countGroups(result *groupResult, seen map[string]int) {
	seen["bound"] += len(result.Bound)
	seen["waiting"] += len(result.Waiting)
	seen["deleted"] += len(result.Deleted)
	for _, place := range result.Queue {
		seen[place]++
	}
	for _, claim := range result.Claims {
		if strings.Contains(claim, "podgroups/") {
			seen["claims of groups"]++
		}
	}
	for key, patches := range result.Patches {
		for _, patch := range patches {
			text := string(patch)
			if strings.HasPrefix(key, "Pod ") {
				if strings.Contains(text, `"reason"`) {
					seen["failed"]++
				}
				if strings.Contains(text, `"nominatedNodeName":"`) {
					seen["nominated"]++
				}
				continue
			}
			for _, reason := range []string{"Scheduled", "Unschedulable", "SchedulerError"} {
				if strings.Contains(text, `"reason":"`+reason+`"`) {
					seen[reason]++
				}
			}
		}
	}
}

func recordGroups(ctx context.Context, r *replayer, path string, seed uint64, count int, o groupOptions, out io.Writer) error {
	cycles := 0
	size, err := writeRecording(path, count, func(int) (any, error) {
		for {
			s, err := generateGroups(seed, o)
			seed++
			if err != nil {
				return nil, err
			}
			if s.sampled {
				continue
			}
			difference, counts, err := s.compare(ctx, r, nil)
			if err == nil && difference != "" {
				equal, repeated := s.equalsAnotherRun(ctx, r)
				if err = repeated; err == nil && !equal {
					err = errors.New(strings.TrimSpace(difference))
				}
			}
			cycles += counts["groups"]
			return s, err
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d scenarios, %d cycles of groups, %d KiB\n", count, cycles, size/1024)
	return err
}
