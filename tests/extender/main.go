// Command extender compares kube-scheduler's own extender client with Berth's: both call scripted extenders, and must
// produce the same decision record, byte for byte.
//
//	extender --berth ../build/bin/berth --oracle ../build/bin/oracle [--only TEXT] [--verbose] [--real PROGRAM]
//	extender --berth ../build/bin/berth --bench NODES [--rounds N]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	berth := flag.String("berth", "../build/bin/berth", "the program under test")
	oracle := flag.String("oracle", "../build/bin/oracle", "runs the real kube-scheduler's plugins")
	only := flag.String("only", "", "run only cases with this text in their name")
	real := flag.String("real", "", "the program that cluster/build makes: with it both also work on a real API server")
	verbose := flag.Bool("verbose", false, "show the records")
	benched := flag.Int("bench", 0, "measure filter calls with that many whole nodes instead, and nothing else")
	rounds := flag.Int("rounds", 5, "rounds of --bench")
	echo := flag.Bool("echo", false, "be the extender of --bench")
	flag.Parse()
	if *echo {
		fail(serveEcho())
	}
	if *benched > 0 {
		if err := bench(*berth, *benched, *rounds); err != nil {
			fail(err)
		}
		return
	}
	if err := run(*berth, *oracle, *only, *verbose); err != nil {
		fail(err)
	}
	if *only != "" {
		return
	}
	if err := examine(*berth); err != nil {
		fail(err)
	}
	if *real != "" {
		if err := errors.Join(onControlPlane(*berth, *real, live), onControlPlane(*berth, *real, served)); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "extender:", err)
	os.Exit(1)
}

func run(berth, oracle, only string, verbose bool) error {
	directory, err := os.MkdirTemp("", "extender")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	secrets, err := newMaterial(directory)
	if err != nil {
		return err
	}
	began, played := time.Now(), 0
	var failures []string
	for _, c := range cases() {
		if !strings.Contains(c.name, only) {
			continue
		}
		played++
		if err := c.play(berth, oracle, directory, secrets, verbose); err != nil {
			failures = append(failures, fmt.Sprintf("%s: %v", c.name, err))
		}
	}
	fmt.Printf("%d cases, %d failures, %.1f s\n", played, len(failures), time.Since(began).Seconds())
	if len(failures) > 0 {
		return errors.New(strings.Join(failures, "\n"))
	}
	return nil
}

// play runs both programs with the same configuration and cluster.
func (c testCase) play(berth, oracle, directory string, secrets *material, verbose bool) error {
	servers := &servers{material: secrets, replaced: slices.Clone(secrets.substituting)}
	defer servers.close()
	config := filepath.Join(directory, "config.yaml")
	cluster := filepath.Join(directory, "cluster.json")
	pods := c.pods
	if pods == "" {
		pods = plainPod
	}
	objects, err := complete(nodes + pods)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(config, []byte(c.config(servers)), 0o644),
		os.WriteFile(cluster, objects, 0o644)); err != nil {
		return err
	}
	var records [2]string
	var requests [2][]string
	for i, command := range [][]string{
		{oracle, "evaluate", "--config", config, "-f", cluster},
		{berth, "explain", "--config", config, "-f", cluster, "-o", "json"},
	} {
		servers.listen()
		var out, errorOutput bytes.Buffer
		program := exec.Command(command[0], command[1:]...)
		program.Stdout, program.Stderr = &out, &errorOutput
		err := program.Run()
		records[i] = out.String()
		if err != nil {
			records[i] += fmt.Sprintf("%v: %s", err, startUpError(errorOutput.String()))
		}
		requests[i] = servers.requestsSoFar()
	}
	if verbose {
		fmt.Printf("%s\n%s\n", c.name, records[1])
	}
	records[0] = hint.ReplaceAllString(records[0], "")
	if c.own != "" {
		if !strings.Contains(records[1], c.own) {
			return fmt.Errorf("%q is not in %s", c.own, records[1])
		}
		if records[0] == records[1] {
			return fmt.Errorf("expected a difference: %s", c.own)
		}
	} else if records[0] != records[1] {
		return fmt.Errorf("different records\n  real  %s\n  berth %s", records[0], records[1])
	}
	if c.expect != "" && !strings.Contains(records[0], servers.fill(c.expect)) {
		return fmt.Errorf("%q is not in %s", servers.fill(c.expect), records[0])
	}
	return sameRequests(requests[0], requests[1])
}

// hint matches an assumption of crypto/x509 if two authorities have the same name, and a position in net/http when the server
// closes the connection, which varies.
var hint = regexp.MustCompile(` \(possibly because of [^)]*\)|readLoopPeekFailLocked: `)

// startUpError is the error of a configuration, without the prefixes of the programs.
func startUpError(text string) string {
	text = strings.TrimSpace(text)
	for _, prefix := range []string{"Error: ", "oracle: ", "oracle evaluate: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// sameRequests compares the request bodies. The real scheduler runs twice, to check the oracle: every body of one must
// be one of the other. The order of nodes is undefined.
func sameRequests(real, berth []string) error {
	for _, body := range real {
		if !contains(berth, body) {
			return fmt.Errorf("a request of kube-scheduler is not one of berth's\n  real  %s\n  berth %s", body, strings.Join(berth, "\n        "))
		}
	}
	for _, body := range berth {
		if !contains(real, body) {
			return fmt.Errorf("a request of berth is not one of kube-scheduler's\n  berth %s\n  real  %s", body, strings.Join(real, "\n        "))
		}
	}
	return nil
}

func contains(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// requestLog contains the requests to the extenders.
type requestLog struct {
	mutex sync.Mutex
	texts []string
}

func (q *requestLog) add(text string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.texts = append(q.texts, text)
}

func (q *requestLog) take() []string {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	texts := q.texts
	q.texts = nil
	return texts
}
