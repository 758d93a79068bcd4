// Command compare sends the same requests to a real kube-apiserver and Berth's sandbox and reports the differences of
// their responses: status codes, error texts and causes, warnings, defaults, field ownership, tables.
//
// Every request is a row of a table (cases_*.go). Rows run in order on both servers, so later rows can depend on
// earlier ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	berth := flag.String("berth", "", "the berth program")
	real := flag.String("real", "", "the control plane, as tests/cluster/build prints it; built if missing")
	only := flag.String("only", "", "show only requests whose name contains this; all are sent")
	verbose := flag.Bool("v", false, "also print the requests with equal responses")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *berth, *real, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, real, only string, verbose bool) error {
	if program == "" {
		return errors.New("--berth is missing")
	}
	if real == "" {
		built, err := exec.Command("cluster/build").Output()
		if err != nil {
			return fmt.Errorf("cluster/build (call this from tests/): %w", err)
		}
		real = strings.TrimSpace(string(built))
	}
	directory, err := os.MkdirTemp("", "berth-compare-")
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	programs := &processes{directory: directory}
	defer os.RemoveAll(directory)
	defer programs.stop()
	berth, err := startSandbox(ctx, programs, program)
	if err != nil {
		return err
	}
	reference, err := startReal(ctx, programs, real)
	if err != nil {
		return err
	}
	started := time.Now()
	differing := 0
	cases := allCases()
	for _, c := range cases {
		found, err := sendToBoth(ctx, reference, berth, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if len(found) > 0 {
			differing++
		}
		if !strings.Contains(c.name, only) || (len(found) == 0 && !verbose) {
			continue
		}
		fmt.Printf("%-9s %s (%s %s)\n", map[bool]string{true: "same", false: "DIFFERENT"}[len(found) == 0], c.name, c.method, c.path)
		for _, difference := range found {
			fmt.Println("            " + difference)
		}
	}
	fmt.Printf("%d requests, %d answered differently, %.1f s\n", len(cases), differing, time.Since(started).Seconds())
	if differing > 0 {
		return errors.New("the responses of the sandbox and of kube-apiserver differ")
	}
	return nil
}

func sendToBoth(ctx context.Context, reference, berth *server, c request) ([]string, error) {
	wanted, err := reference.do(ctx, c)
	if err != nil {
		return nil, err
	}
	got, err := berth.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return compare(c, wanted, got), nil
}
