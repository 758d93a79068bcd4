package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// An extender, and the expected finding of berth extender check.
type examinedExtender struct {
	name   string
	how    reply
	flags  []string
	result string // the worst result
	output string
}

func examinations() []examinedExtender {
	only := func(verb string) []string { return []string{"--form=names", "--verbs=" + verb} }
	filters, scores, preempts := only("filter"), only("prioritize"), only("preempt")
	scored := func(text string) reply {
		return func(w http.ResponseWriter, _ *http.Request, names []string) {
			var list []string
			for _, name := range names {
				list = append(list, fmt.Sprintf(text, name))
			}
			_, _ = fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
		}
	}
	return []examinedExtender{
		{"good", passes("NodeNames", all), filters, "pass", ""},
		{"lower case is fine for Go", passes("nodenames", all), filters, "pass", ""},
		{"good scores", scored(`{"Host":%q,"Score":3}`), scores, "pass", ""},
		{"drops without a word", passes("NodeNames", func(string) bool { return false }), filters, "warn", "left out without a reason"},
		{"an error of its own", withBody(`{"Error":"no idea"}`), filters, "warn", "no idea"},
		{"null", withBody("null"), filters, "wrong", "every node is rejected"},
		{"a wrong type", withBody(`{"NodeNames":"a"}`), filters, "wrong", "cannot unmarshal string"},
		{"unknown nodes", withBody(`{"NodeNames":["ghost"]}`), filters, "wrong", "not in the request"},
		{"HTML", withBody("<html>"), filters, "wrong", "invalid character '<'"},
		{"closes before the reply", raw(""), filters, "wrong", "EOF"},
		{"closes in the middle", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":[\"a\""), filters, "wrong", "unexpected EOF"},
		{"status 500", withStatus(500, ""), filters, "wrong", "status 500"},
		{"hangs", hangs, append(filters, "--timeout=300ms"), "wrong", "Client.Timeout exceeded"},
		{"slow", late(200*time.Millisecond, passes("NodeNames", all)), append(filters, "--timeout=300ms"), "warn", "more than half of the time-out"},
		{"names for nodes", passes("NodeNames", all), []string{"--form=nodes", "--verbs=filter"}, "wrong", "names are ignored"},
		{"floats", scored(`{"Host":%q,"Score":7.5}`), scores, "wrong", "number 7.5"},
		{"beyond ten", scored(`{"Host":%q,"Score":11}`), scores, "warn", "outside of 0 to 10"},
		{"missing hosts", withBody("[]"), scores, "warn", "no score for"},
		{"no list", withBody("{}"), scores, "wrong", "cannot unmarshal object"},
		{"whole victims back", withBody(`{"NodeNameToVictims":{}}`), preempts, "wrong", "NodeNameToVictims is ignored"},
		{"null for victims", withBody(`{"NodeNameToMetaVictims":{"berth-check-a":null}}`), preempts, "wrong", "crashes kube-scheduler"},
		{"victims of another node", withBody(`{"NodeNameToMetaVictims":{"berth-check-a":{"Pods":[{"UID":"x"}]}}}`), preempts, "wrong", "is not in the request for"},
		{"binds what does not exist", withBody(`{"Error":""}`), only("bind"), "wrong", "there is no such pod"},
		{"reports why it does not bind", withBody(`{"Error":"pods not found"}`), only("bind"), "pass", ""},
	}
}

// examine runs berth extender check on extenders of all kinds.
func examine(berth string) error {
	var failures []error
	for _, e := range examinations() {
		if err := e.play(berth); err != nil {
			failures = append(failures, fmt.Errorf("extender check, %s: %w", e.name, err))
		}
	}
	fmt.Printf("%d extenders checked, %d failures\n", len(examinations()), len(failures))
	return errors.Join(failures...)
}

func (e examinedExtender) play(berth string) error {
	servers := &servers{}
	defer servers.close()
	url := servers.add(e.how, false)
	out, err := exec.Command(berth, append([]string{"extender", "check", url, "--json", "--many=20"}, e.flags...)...).Output()
	var report struct {
		Pass, Warn, Wrong int
		Cases             []struct {
			Case, Result string
			Messages     []string
		}
	}
	if json.Unmarshal(out, &report) != nil || len(report.Cases) == 0 {
		return fmt.Errorf("%v: %s", err, out)
	}
	worst, output := "pass", ""
	for _, c := range report.Cases {
		if strings.HasPrefix(c.Case, "wire: GET") || strings.HasPrefix(c.Case, "wire: no") {
			continue // none of these servers evaluates the request
		}
		if c.Result == "wrong" || worst == "pass" {
			worst = c.Result
		}
		output += strings.Join(c.Messages, "\n")
	}
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if worst != e.result || !strings.Contains(output, e.output) || (code == 2) != (report.Wrong > 0) {
		return fmt.Errorf("expected %s and %q, exit code %d:\n%s", e.result, e.output, code, out)
	}
	return nil
}
