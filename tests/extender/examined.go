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

// An extender, and what berth extender check has to find in it.
type examined struct {
	name   string
	how    answer
	flags  []string
	result string // the worst that is found in a case
	said   string
}

func examinations() []examined {
	only := func(verb string) []string { return []string{"--form=names", "--verbs=" + verb} }
	filters, scores, preempts := only("filter"), only("prioritize"), only("preempt")
	scored := func(text string) answer {
		return func(w http.ResponseWriter, _ *http.Request, names []string) {
			var list []string
			for _, name := range names {
				list = append(list, fmt.Sprintf(text, name))
			}
			_, _ = fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
		}
	}
	return []examined{
		{"good", passes("NodeNames", all), filters, "pass", ""},
		{"lower case is fine for Go", passes("nodenames", all), filters, "pass", ""},
		{"good scores", scored(`{"Host":%q,"Score":3}`), scores, "pass", ""},
		{"drops without a word", passes("NodeNames", func(string) bool { return false }), filters, "warn", "left out without a reason"},
		{"an error of its own", says(`{"Error":"no idea"}`), filters, "warn", "no idea"},
		{"null", says("null"), filters, "wrong", "every node is rejected"},
		{"a wrong type", says(`{"NodeNames":"a"}`), filters, "wrong", "cannot unmarshal string"},
		{"unknown nodes", says(`{"NodeNames":["ghost"]}`), filters, "wrong", "not in the request"},
		{"HTML", says("<html>"), filters, "wrong", "invalid character '<'"},
		{"dies before the answer", raw(""), filters, "wrong", "EOF"},
		{"dies in the middle", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":[\"a\""), filters, "wrong", "unexpected EOF"},
		{"status 500", saysWith(500, ""), filters, "wrong", "status 500"},
		{"hangs", hangs, append(filters, "--timeout=300ms"), "wrong", "Client.Timeout exceeded"},
		{"slow", late(200*time.Millisecond, passes("NodeNames", all)), append(filters, "--timeout=300ms"), "warn", "more than half of the time-out"},
		{"names for nodes", passes("NodeNames", all), []string{"--form=nodes", "--verbs=filter"}, "wrong", "names are ignored"},
		{"floats", scored(`{"Host":%q,"Score":7.5}`), scores, "wrong", "number 7.5"},
		{"beyond ten", scored(`{"Host":%q,"Score":11}`), scores, "warn", "outside of 0 to 10"},
		{"missing hosts", says("[]"), scores, "warn", "no score for"},
		{"no list", says("{}"), scores, "wrong", "cannot unmarshal object"},
		{"whole victims back", says(`{"NodeNameToVictims":{}}`), preempts, "wrong", "NodeNameToVictims is ignored"},
		{"null for victims", says(`{"NodeNameToMetaVictims":{"berth-check-a":null}}`), preempts, "wrong", "crashes kube-scheduler"},
		{"somebody else's victims", says(`{"NodeNameToMetaVictims":{"berth-check-a":{"Pods":[{"UID":"x"}]}}}`), preempts, "wrong", "is not in the request for"},
		{"binds what does not exist", says(`{"Error":""}`), only("bind"), "wrong", "there is no such pod"},
		{"says why it does not bind", says(`{"Error":"pods not found"}`), only("bind"), "pass", ""},
	}
}

// examine lets berth extender check look at extenders of all kinds.
func examine(berth string) error {
	var failures []error
	for _, e := range examinations() {
		if err := e.play(berth); err != nil {
			failures = append(failures, fmt.Errorf("extender check, %s: %w", e.name, err))
		}
	}
	fmt.Printf("%d extenders examined, %d failures\n", len(examinations()), len(failures))
	return errors.Join(failures...)
}

func (e examined) play(berth string) error {
	servers := &servers{}
	defer servers.close()
	url := servers.add(e.how, false)
	out, err := exec.Command(berth, append([]string{"extender", "check", url, "--json", "--many=20"}, e.flags...)...).Output()
	var report struct {
		Pass, Warn, Wrong int
		Cases             []struct {
			Case, Result string
			Said         []string
		}
	}
	if json.Unmarshal(out, &report) != nil || len(report.Cases) == 0 {
		return fmt.Errorf("%v: %s", err, out)
	}
	worst, said := "pass", ""
	for _, c := range report.Cases {
		if strings.HasPrefix(c.Case, "wire: GET") || strings.HasPrefix(c.Case, "wire: no") {
			continue // none of these servers looks at what it is asked
		}
		if c.Result == "wrong" || worst == "pass" {
			worst = c.Result
		}
		said += strings.Join(c.Said, "\n")
	}
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if worst != e.result || !strings.Contains(said, e.said) || (code == 2) != (report.Wrong > 0) {
		return fmt.Errorf("expected %s and %q, exit code %d:\n%s", e.result, e.said, code, out)
	}
	return nil
}
