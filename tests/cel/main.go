// Compares Berth's implementation of the Common Expression Language with cel-go as Kubernetes uses it for device
// selectors (k8s.io/dynamic-resource-allocation/cel).
//
//	cel compare --evaluate build/bin/evaluate_cel --expressions 20000 --from-seed 1
//	cel conformance --evaluate build/bin/evaluate_cel
//	cel compare --expressions 4000 --from-seed 1 --record cel/expressions.ndjson.zst
//	cel try --evaluate build/bin/evaluate_cel '1 + 1'
//
// Both programs compile each expression, evaluate it on a device, and must agree on compile errors, values,
// run-time errors and costs.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// One case: what evaluate_cel reads.
type request struct {
	Expression string `json:"expression"`
	Device     device `json:"device"`
	Limit      uint64 `json:"limit,omitempty"`
}

// What both programs return.
type reply struct {
	Selector map[string]any `json:"selector"`
	Any      map[string]any `json:"any,omitempty"`
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: cel compare|conformance|try --evaluate PROGRAM")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	program := flags.String("evaluate", "../build/bin/evaluate_cel", "Berth's program")
	count := flags.Int("expressions", 20000, "number of random expressions")
	seed := flags.Int64("from-seed", time.Now().Unix(), "seed of the first expression")
	verbose := flags.Bool("verbose", false, "print every case")
	record := flags.String("record", "", "write requests and cel-go's replies to this zstd-compressed file")
	flags.Parse(os.Args[2:])

	var cases []named
	switch os.Args[1] {
	case "compare":
		for i := range int64(*count) {
			cases = append(cases, randomCase(*seed+i))
		}
	case "conformance":
		cases = conformanceCases()
	case "try":
		for _, expression := range flags.Args() {
			cases = append(cases, named{expression, request{Expression: expression, Device: exampleDevice()}})
		}
		*verbose = true
	default:
		fail("unknown command " + os.Args[1])
	}
	if *record != "" {
		writeRecord(*record, cases)
		return
	}
	if differences := compareAll(start(*program), cases, *verbose); differences > 0 {
		fail(fmt.Sprintf("%d differences", differences))
	}
}

type named struct {
	name string
	request
}

type tally struct{ same, syntax, random, panics, failed, compile, runtime int }

func compareAll(berth *process, cases []named, verbose bool) int {
	var t tally
	for _, c := range cases {
		want := evaluate(c.request)
		got := berth.ask(c.request)
		if verbose {
			fmt.Printf("%s\n  cel-go %s\n  berth  %s\n", c.Expression, text(want), text(got))
		}
		switch {
		case text(want) == text(got):
			t.same++
			if _, failed := want.Selector["compile"]; failed && want.Any["compile"] != nil {
				t.compile++
			} else if want.Any["error"] != nil {
				t.runtime++
			}
		case panics(want):
			t.panics++
		case bothSyntaxErrors(want, got):
			t.syntax++
		case isRandom(c.request, want, 300):
			t.random++
		default:
			t.failed++
			if t.failed <= 20 {
				fmt.Printf("%s: %s\n  device %s\n  cel-go %s\n  berth  %s\n", c.name, c.Expression, text(c.Device), text(want), text(got))
			}
		}
	}
	fmt.Printf("%d cases: %d equal (%d of them errors of the compiler, %d of the evaluation), %d syntax errors with other "+
		"texts, %d depend on the order of Go's maps, %d end cel-go, %d differences\n",
		len(cases), t.same, t.compile, t.runtime, t.syntax, t.random, t.panics, t.failed)
	return t.failed
}

// Berth reports only the first syntax error, and with its own text.
func bothSyntaxErrors(a, b reply) bool {
	is := func(r reply) bool {
		message, _ := r.Selector["compile"].(string)
		return strings.Contains(message, "Syntax error: ")
	}
	return is(a) && is(b)
}

func panics(r reply) bool { return r.Selector["panic"] != nil || r.Any["panic"] != nil }

// Whether cel-go itself gives several results.
func isRandom(r request, first reply, attempts int) bool {
	for range attempts {
		if text(evaluate(r)) != text(first) {
			return true
		}
	}
	return false
}

func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		fail(err.Error())
	}
	return strings.TrimSpace(b.String())
}

// process is a running evaluate_cel.
type process struct {
	in  *bufio.Writer
	out *bufio.Scanner
}

func start(program string) *process {
	command := exec.Command(program)
	in, err := command.StdinPipe()
	if err != nil {
		fail(err.Error())
	}
	out, err := command.StdoutPipe()
	if err != nil {
		fail(err.Error())
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		fail(err.Error())
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 64<<20)
	return &process{bufio.NewWriter(in), scanner}
}

func (p *process) ask(r request) reply {
	fmt.Fprintln(p.in, text(r))
	p.in.Flush()
	if !p.out.Scan() {
		fail("evaluate_cel ended after " + text(r))
	}
	var answer reply
	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		fail(err.Error())
	}
	return answer
}

// Writes requests and cel-go's replies for machines without Go.
func writeRecord(path string, cases []named) {
	file, err := os.Create(path)
	if err != nil {
		fail(err.Error())
	}
	defer file.Close()
	compressed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		fail(err.Error())
	}
	for _, c := range cases {
		want := evaluate(c.request)
		if bothSyntaxErrors(want, want) || panics(want) || isRandom(c.request, want, 30) {
			continue
		}
		fmt.Fprintln(compressed, text(struct {
			request
			Reply reply `json:"reply"`
		}{c.request, want}))
	}
	if err := compressed.Close(); err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "cel: "+message)
	os.Exit(1)
}
