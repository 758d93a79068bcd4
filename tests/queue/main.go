// Command queue runs kube-scheduler's scheduling queue through random sequences of operations, and records its visible
// state after each step. queue_replay (C++) runs Berth's queue through the same steps and compares.
//
// The queue's decisions are not reimplemented here: this program only draws the steps, executes them and reads the
// state.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

type command struct {
	name    string
	summary string
	run     func(args []string, out, errOut io.Writer) error
}

func commands() []command {
	return []command{
		{"compare", "compare Berth's queue with the real one on random sequences", runCompare},
		{"record", "record random sequences with the real queue's states", runRecord},
		{"show", "print one sequence, step by step", runShow},
	}
}

// errDiffers is returned after the differences have been printed.
var errDiffers = errors.New("the queues differ")

func main() {
	os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr))
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "queue compares scheduling queues.")
	fmt.Fprintln(w, "\nUsage: queue COMMAND [flags]; `queue COMMAND --help` lists the flags.")
	fmt.Fprintln(w, "\nCommands:")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
}

func dispatch(args []string, out, errOut io.Writer) int {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name != args[0] {
				continue
			}
			silence()
			err := c.run(args[1:], out, errOut)
			if err == nil || errors.Is(err, flag.ErrHelp) {
				return 0
			}
			fmt.Fprintf(errOut, "queue %s: %v\n", c.name, err)
			return 1
		}
	}
	usage(errOut)
	return 1
}

func newFlags(name, synopsis, text string, errOut io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(errOut, "Usage: queue %s %s\n\n%s\n\nFlags:\n", name, synopsis, text)
		flags.PrintDefaults()
	}
	return flags
}
