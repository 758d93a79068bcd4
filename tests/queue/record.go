package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

func runRecord(args []string, out, errOut io.Writer) error {
	flags := newFlags("record", "--out FILE.zst [--from-seed A] [--sequences N]",
		"Records sequences with the real queue's states, for machines without Go. The file is zstd-compressed, one\n"+
			"sequence per line (sequence.go).", errOut)
	first := flags.Uint64("from-seed", 1, "first sequence")
	count := flags.Int("sequences", 400, "number of sequences")
	path := flags.String("out", "", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *path == "" {
		return errNoFile
	}
	file, err := os.Create(*path)
	if err != nil {
		return err
	}
	defer file.Close()
	steps, err := record(file, *first, *count)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d sequences, %d steps, %d KiB\n", *count, steps, info.Size()/1024)
	return err
}

func record(file io.Writer, first uint64, count int) (steps int, err error) {
	compressed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	for seed := first; seed < first+uint64(count); seed++ {
		s := generate(seed, seed%2 == 0, false)
		line, err := json.Marshal(s)
		if err != nil {
			return steps, err
		}
		if _, err := compressed.Write(append(line, '\n')); err != nil {
			return steps, err
		}
		steps += len(s.Steps)
	}
	return steps, compressed.Close()
}

func runShow(args []string, out, errOut io.Writer) error {
	flags := newFlags("show", "--seed N", "Prints the steps of one sequence with the changes in the real queue.", errOut)
	seed := flags.Uint64("seed", 1, "which sequence")
	groups := flags.Bool("groups", false, "with pod groups")
	trees := flags.Bool("trees", false, "with trees of composite groups")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *trees {
		enableTrees()
	}
	return show(out, generate(*seed, *groups || *trees, *trees))
}

func show(out io.Writer, s sequence) error {
	head, err := json.Marshal(sequence{Seed: s.Seed, Options: s.Options, Plugins: s.Plugins})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", head)
	for i, done := range s.Steps {
		line, err := json.Marshal(done)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%3d  %s\n", i+1, line)
	}
	return nil
}
