// Command http_versions measures what a request to a real kube-apiserver takes of the client's CPU time, with HTTP/1.1 and
// with HTTP/2, in alternating rounds of bench_http_versions: the creation of an event, at a steady rate.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	rounds     int
	requests   int
	rate       float64
	concurrent int
	json       bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("http_versions", "--berth PATH [flags]", "Measures the CPU time of a client per request, with HTTP/1.1 and HTTP/2. bench_http_versions is expected beside berth.")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of each version")
	flags.IntVar(&o.requests, "requests", 4000, "requests of a round")
	flags.Float64Var(&o.rate, "rate", 400, "requests per second")
	flags.IntVar(&o.concurrent, "concurrent", 100, "requests in progress at most, and connections with HTTP/1.1")
	flags.BoolVar(&o.json, "json", false, "print one JSON object per line")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("--rounds %d: at least 1", o.rounds)
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("http_versions", parse, measure) }

func measure(ctx context.Context, o *options, directory string) error {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return err
	}
	server, err := url.Parse(control.URL)
	if err != nil {
		return err
	}
	token := control.File("token")
	if err := os.WriteFile(token, []byte(control.Token+"\n"), 0o600); err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(o.Berth), "bench_http_versions")
	// The first round warms the API server up.
	for round := range o.rounds + 1 {
		for _, version := range []string{"1.1", "2"} {
			command := exec.CommandContext(ctx, program, "--port", server.Port(), "--token-file", token, "--http", version,
				"--requests", fmt.Sprint(o.requests), "--rate", fmt.Sprint(o.rate), "--concurrent", fmt.Sprint(o.concurrent))
			if o.json {
				command.Args = append(command.Args, "--json")
			}
			command.Stderr = os.Stderr
			output, err := command.Output()
			if err != nil {
				return fmt.Errorf("HTTP/%s: %w", version, err)
			}
			if round > 0 {
				fmt.Print(string(output))
			}
		}
	}
	return nil
}
