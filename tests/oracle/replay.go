package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"

	"github.com/klauspost/compress/zstd"
)

// replayer is a running replay program (C++). It answers each line of JSON with one line.
type replayer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startReplayer(path string) (*replayer, error) {
	if path == "" {
		return nil, errors.New("--replay is missing: the path of the replay program")
	}
	r := &replayer{process: exec.Command(path, "-")}
	r.process.Stderr = os.Stderr
	var err error
	if r.in, err = r.process.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewScanner(answers)
	r.out.Buffer(nil, 1<<28)
	return r, r.process.Start()
}

func (r *replayer) close() error {
	r.in.Close()
	return r.process.Wait()
}

// ask sends a value as one line and returns the answer.
func (r *replayer) ask(v any) (string, error) {
	line, err := toJSON(v)
	if err != nil {
		return "", err
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return "", err
	}
	if !r.out.Scan() {
		return "", errors.Join(errors.New("the replay program has ended"), r.out.Err())
	}
	return r.out.Text(), nil
}

// writeRecording writes count lines of JSON, zstd-compressed.
func writeRecording(path string, count int, line func(i int) (any, error)) (bytes int64, err error) {
	if path == "" {
		return 0, errors.New("--out is missing: the file to write")
	}
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	compressed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	for i := range count {
		v, err := line(i)
		if err != nil {
			return 0, err
		}
		text, err := toJSON(v)
		if err != nil {
			return 0, err
		}
		if _, err := compressed.Write(append(text, '\n')); err != nil {
			return 0, err
		}
	}
	if err := compressed.Close(); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readRecording calls visit for each line.
func readRecording(path string, visit func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := zstd.NewReader(file)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		if err := visit(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
