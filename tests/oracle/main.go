// Command oracle evaluates a cluster with kube-scheduler's own scheduling plugins.
//
// It runs the framework, the plugins, the cache and the queue of the k8s.io/kubernetes module on a dump of a cluster
// and prints one decision record per pending pod. It does not reimplement any decision: it only sets up the objects
// and reads the results.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// command is one subcommand. It writes results to out and errors to errOut.
type command struct {
	name    string
	summary string
	run     func(args []string, out, errOut io.Writer) error
}

func commands() []command {
	return []command{
		{"evaluate", "print one decision record per pending pod of a dump", runEvaluate},
		{"generate", "generate a random cluster and a configuration", runGenerate},
		{"compare", "compare berth with the real plugins on random clusters", runCompare},
		{"record", "record random clusters with the real results", runRecord},
		{"sequences", "compare decisions on changing clusters, with the equivalence cache", runSequences},
		{"groups", "compare whole cycles of pod groups with those of kube-scheduler", runGroups},
		{"devices", "compare the devices that berth and the real plugin allocate", runDevices},
		{"hints", "compare the queueing hints of berth with those of the real plugins", runHints},
	}
}

// exitError contains an exit code other than 1.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

func usage(w io.Writer) {
	fmt.Fprintln(w, "oracle runs the real plugins of kube-scheduler.")
	fmt.Fprintln(w, "\nUsage: oracle COMMAND [flags]; `oracle COMMAND --help` lists the flags.")
	fmt.Fprintln(w, "\nCommands:")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
}

func main() {
	os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr))
}

func dispatch(args []string, out, errOut io.Writer) int {
	if len(args) == 0 {
		usage(errOut)
		return 1
	}
	if args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		usage(out)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(args[1:], out, errOut)
		var exit *exitError
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, &exit):
			if exit.text != "" {
				fmt.Fprintf(errOut, "oracle %s: %s\n", c.name, exit.text)
			}
			return exit.code
		default:
			fmt.Fprintf(errOut, "oracle %s: %v\n", c.name, err)
			return 1
		}
	}
	fmt.Fprintf(errOut, "oracle: there is no command %q\n\n", args[0])
	usage(errOut)
	return 1
}

// newFlags creates a flag set whose help begins with a one-line description of the command.
func newFlags(name, synopsis, text string, errOut io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(errOut, "Usage: oracle %s %s\n\n%s\n\nFlags:\n", name, synopsis, text)
		flags.PrintDefaults()
	}
	return flags
}

// repeated is a flag that may be given several times.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ",") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}
