// Command serving sends the same HTTPS requests to kube-scheduler and berth, with a real API server behind
// both, and compares the responses. It also searches logs, pages and events for berth's secrets.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

func main() {
	berth := flag.String("berth", "", "the program to compare with kube-scheduler")
	only := flag.String("only", "", "only requests whose name contains this")
	verbose := flag.Bool("verbose", false, "print every response of kube-scheduler")
	keep := flag.Bool("keep", false, "keep the directory with logs and files")
	flag.Parse()
	failed, err := run(*berth, *only, *verbose, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "serving:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Printf("%d responses differ or contain secrets\n", failed)
		os.Exit(1)
	}
}

func run(berth, only string, verbose, keep bool) (failed int, err error) {
	directory, err := os.MkdirTemp("", "berth-serving-")
	if err != nil {
		return 0, err
	}
	children := &controlplane.Children{Directory: directory}
	defer func() {
		children.StopAll()
		if keep || err != nil {
			fmt.Println("logs are in", directory)
		} else {
			os.RemoveAll(directory)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stage, err := newStage(ctx, directory, children)
	if err != nil {
		return 0, err
	}
	if berth, err = filepath.Abs(berth); err != nil {
		return 0, err
	}
	stage.berth = berth
	reference, candidate, err := stage.startPair(ctx, "", "--leader-elect=false")
	if err != nil {
		return 0, err
	}
	if err := stage.checkProfile(candidate); err != nil {
		return 0, fmt.Errorf("CPU profile: %w", err)
	}
	wrong, err := stage.checkAPIAccess(ctx)
	if err != nil {
		return 0, fmt.Errorf("access to Berth's API: %w", err)
	}
	for _, what := range wrong {
		failed++
		fmt.Println("ACCESS:", what)
	}
	found, err := stage.checkSecrets(ctx)
	if err != nil {
		return 0, fmt.Errorf("secrets: %w", err)
	}
	for _, what := range found {
		failed++
		fmt.Println("SECRET:", what)
	}
	count := 0
	for _, step := range steps(stage) {
		if step.before != nil {
			if err := step.before(ctx); err != nil {
				return failed, fmt.Errorf("%s: %w", step.name, err)
			}
		}
		reference, candidate := reference+step.pair, candidate+step.pair
		for _, request := range step.requests {
			if !strings.Contains(request.name, only) {
				continue
			}
			count++
			wanted, err := stage.send(reference, request)
			if err != nil {
				return failed, fmt.Errorf("%s: kube-scheduler: %w", request.name, err)
			}
			if verbose {
				fmt.Printf("--- %s\n%s\n", request.name, wanted)
			}
			got, err := stage.send(candidate, request)
			if err != nil {
				got = &answer{body: err.Error()}
			}
			if difference := compare(request, wanted, got); difference != "" {
				failed++
				fmt.Printf("DIFFERS: %s\n%s\n", request.name, difference)
			}
		}
	}
	fmt.Printf("%d requests compared, %d failures\n", count, failed)
	return failed, nil
}
