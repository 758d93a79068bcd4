// Command descheduler runs the plugin LowNodeUtilization of kubernetes-sigs/descheduler on a simulated cluster. The
// simulation (bench/load/rebalancing.cpp) writes one JSON object per line, and reads one line for each, with the names of
// the evicted pods.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// request is a line of the input: exactly one field is set.
type request struct {
	// Begin starts with a new cluster.
	Begin *beginning `json:"begin"`
	// Usage is collected by the descheduler every five seconds.
	Usage map[string]usage `json:"usage"` // by node
	// Balance runs the plugin.
	Balance []pod `json:"balance"`
}

type beginning struct {
	Nodes      []node  `json:"nodes"`
	Source     string  `json:"source"`     // of usage: KubernetesMetrics or Prometheus
	Thresholds float64 `json:"thresholds"` // percent of cpu
	Target     float64 `json:"target"`     // targetThresholds, percent of cpu
}

type usage struct {
	MilliCPU int64 `json:"milliCpu"`
	Memory   int64 `json:"memory"` // bytes
}

type node struct {
	Name string `json:"name"`
	usage
	Pods int64 `json:"pods"`
}

// pod has the usage of the pod; its requests do not take part in the decision.
type pod struct {
	Name       string `json:"name"`
	Node       string `json:"node"`
	Deployment string `json:"deployment"`
	usage
}

type response struct {
	Evicted []string `json:"evicted"`
}

func main() {
	verbosity := flag.Bool("v", false, "write the descheduler's log to the standard error")
	descriptor := flag.Int("socket", -1, "descriptor of an open socket for requests and responses; default: standard input and output")
	flag.Parse()
	if !*verbosity {
		klog.SetLogger(logr.Discard())
	}
	in, out := os.Stdin, os.Stdout
	if *descriptor >= 0 {
		in = os.NewFile(uintptr(*descriptor), "socket")
		out = in
	}
	if err := run(in, out); err != nil {
		fmt.Fprintln(os.Stderr, "descheduler:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	encoder := json.NewEncoder(out)
	var current *cluster
	defer func() { current.close() }()
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		answer := response{Evicted: []string{}}
		switch {
		case r.Begin != nil:
			current.close()
			if current, err = newCluster(*r.Begin); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		case current == nil:
			return fmt.Errorf("line %d: begin must be first", number)
		case r.Usage != nil:
			if err := current.collect(r.Usage); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		default:
			if answer.Evicted, err = current.balance(r.Balance); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
}
