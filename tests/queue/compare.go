package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"slices"
	"time"
)

func runCompare(args []string, out, errOut io.Writer) error {
	flags := newFlags("compare", "--replay PATH [--from-seed A] [--sequences N]",
		"Runs random sequences on the real queue and compares Berth's queue with it after every step, by\n"+
			"queue_replay. A sequence that differs is reduced to the necessary steps and printed.", errOut)
	replay := flags.String("replay", "", "the queue_replay program")
	first := flags.Uint64("from-seed", 1, "first sequence")
	count := flags.Int("sequences", 1000, "number of sequences")
	groups := flags.Bool("groups", false, "with pod groups")
	trees := flags.Bool("trees", false, "with trees of composite groups")
	shown := flags.Int("show", 3, "number of differing sequences to print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *replay == "" {
		return errors.New("--replay is missing: the path of queue_replay")
	}
	if *trees {
		enableTrees()
		*groups = true
	}
	debug.SetGCPercent(400) // sequences are short-lived, and memory is not scarce
	started := time.Now()
	failed, steps, kinds, err := compare(*replay, *first, *count, *groups, *trees)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d sequences, %d steps of %d kinds, %d mismatches, %.0f s (seeds %d to %d)\n", *count, steps,
		kinds, len(failed), time.Since(started).Seconds(), *first, *first+uint64(*count)-1)
	for _, seed := range failed[:min(*shown, len(failed))] {
		if err := explain(*replay, seed, *groups, *trees, out); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return errDiffers
	}
	return nil
}

// replayer is a running queue_replay. It answers each line with one line.
type replayer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startReplayer(path string) (*replayer, error) {
	j := &replayer{process: exec.Command(path, "-")}
	var err error
	if j.in, err = j.process.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := j.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.out = bufio.NewScanner(answers)
	j.out.Buffer(nil, 1<<24)
	return j, j.process.Start()
}

func (j *replayer) close() error {
	j.in.Close()
	return j.process.Wait()
}

func (j *replayer) send(s sequence) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = j.in.Write(append(line, '\n'))
	return err
}

// verdict is empty if the queues are equal.
func (j *replayer) verdict() (string, error) {
	if !j.out.Scan() {
		return "", errors.Join(errors.New("queue_replay stopped answering"), j.out.Err())
	}
	if text := j.out.Text(); text != "ok" {
		return text, nil
	}
	return "", nil
}

func compare(replay string, first uint64, count int, groups, trees bool) (failed []uint64, steps, kinds int, err error) {
	j, err := startReplayer(replay)
	if err != nil {
		return nil, 0, 0, err
	}
	sent := make(chan error, 1)
	seen := make(map[string]bool)
	go func() {
		for i := range count {
			s := generate(first+uint64(i), groups, trees)
			steps += len(s.Steps)
			for _, done := range s.Steps {
				seen[kindOf(done.operation)] = true
			}
			if err := j.send(s); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range count {
		text, err := j.verdict()
		if err != nil {
			return nil, 0, 0, fmt.Errorf("seed %d: %w", first+uint64(i), err)
		}
		if text != "" {
			failed = append(failed, first+uint64(i))
		}
	}
	if err := <-sent; err != nil {
		return nil, 0, 0, err
	}
	return failed, steps, len(seen), j.close()
}

// kindOf distinguishes more kinds of operations than the protocol.
func kindOf(op operation) string {
	switch {
	case op.Event != nil:
		return op.Kind + " " + op.Event.Label
	case op.Kind == "requeue" && len(op.Pending) > 0:
		return "requeue pending"
	case op.Kind == "requeue" && len(op.Rejectors) > 0:
		return "requeue rejected"
	}
	return op.Kind
}

// explain reduces a sequence to the steps that are necessary for the difference, and prints them.
func explain(replay string, seed uint64, groups, trees bool, out io.Writer) error {
	j, err := startReplayer(replay)
	if err != nil {
		return err
	}
	defer j.close()
	s := generate(seed, groups, trees)
	ask := func(candidate sequence) (string, error) {
		if err := j.send(candidate); err != nil {
			return "", err
		}
		return j.verdict()
	}
	text, err := ask(s)
	if err != nil {
		return err
	}
	for size := max(len(s.Steps)/2, 1); size >= 1; size /= 2 {
		for at := 0; at < len(s.Steps); {
			shorter := again(s, slices.Delete(slices.Clone(s.Steps), at, min(at+size, len(s.Steps))))
			answer, err := ask(shorter)
			if err != nil {
				return err
			}
			if answer == "" {
				at += size
				continue
			}
			s, text = shorter, answer
		}
	}
	fmt.Fprintf(out, "\nseed %d, %d steps left: %s\n", seed, len(s.Steps), text)
	if err := show(out, s); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "repeat: queue compare --replay %s --from-seed %d --sequences 1 --groups=%v --trees=%v\n", replay, seed, groups, trees)
	return err
}

// again runs other steps on the real queue; steps that are not applicable are omitted.
func again(s sequence, steps []step) sequence {
	w := newEnvironment(s.Options, s.Plugins)
	s.Steps = nil
	for _, planned := range steps {
		if done, ok := w.apply(planned.operation); ok {
			s.Steps = append(s.Steps, done)
		}
	}
	return s
}
