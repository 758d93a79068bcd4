package main

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

// shadow is berth in shadow mode.
type shadow struct {
	control *controlplane.ControlPlane
	options *options
	report  string
	child   *controlplane.Child
	page    string
	open    string
	client  *http.Client
}

func (s *shadow) start(ctx context.Context, children *controlplane.Children) error {
	kubeconfig, err := s.control.WriteCertificateKubeconfig(s.control.URL, user, pkix.Name{CommonName: user})
	if err != nil {
		return err
	}
	config := s.control.File("berth.yaml")
	if err := os.WriteFile(config, []byte(configuration(kubeconfig, s.options.percentage)), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	pair, err := s.control.Authority.Sign(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, false)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return err
	}
	s.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}}}}
	s.page = fmt.Sprintf("https://127.0.0.1:%d/debug/berth/shadow", ports[0])
	s.open = fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	s.child, err = children.Start("berth", []string{s.options.Berth, "scheduler"}, "--config="+config,
		"--berth-shadow", "--berth-shadow-report="+s.report, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		fmt.Sprintf("--berth-http-address=127.0.0.1:%d", ports[1]), "--berth-http-metrics", "--client-ca-file="+s.control.File("ca.crt"))
	if err != nil {
		return err
	}
	return controlplane.Until(ctx, 30*time.Second, "berth to be ready", func() (bool, error) {
		if !s.child.Running() {
			return false, s.child.Gone()
		}
		answer, err := s.client.Get(s.open + "/readyz")
		if err != nil {
			return false, nil
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
}

func (s *shadow) get(url string) (string, error) {
	answer, err := s.client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, body)
	}
	return string(body), err
}

// comparison is berth's result for one decision.
type comparison struct {
	Pod, Outcome, Because string
}

// report is berth's report: from the endpoint, or from the log.
type report struct {
	Profiles []struct {
		Profile                                    string
		Agreed, Explained, Disagreed, Not_compared int
		Outcomes                                   map[string]int
	}
	Disagreements []json.RawMessage
	Explained     []comparison
}

func (r report) outcome(name string) int {
	count := 0
	for _, profile := range r.Profiles {
		count += profile.Outcomes[name]
	}
	return count
}

// findings are the results to check.
type findings struct {
	text    string
	report  report
	log     string
	metrics map[string]int // comparisons by outcome
	cpu     float64
	peakMiB int64
	ended   string
	leftOut map[string]int // disagreements by outcome
}

// finish reads the page and the metrics, ends berth, and reads its last output.
func (s *shadow) finish(ctx context.Context) (*findings, error) {
	// Berth compares the last decisions after a second.
	if err := controlplane.Pause(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	var f findings
	var err error
	if f.text, err = s.get(s.page); err != nil {
		return nil, err
	}
	page, err := s.get(s.page + "?output=json")
	if err != nil {
		return nil, err
	}
	metrics, err := s.get(s.open + "/metrics")
	if err != nil {
		return nil, err
	}
	f.metrics = comparisons(metrics)
	f.peakMiB = memory(metrics)
	f.cpu = s.child.CPUSeconds()
	f.ended = s.child.Stop()
	file, err := os.ReadFile(s.report)
	if err != nil {
		return nil, err
	}
	for what, text := range map[string]string{"the page": page, "the file": string(file)} {
		f.report = report{}
		if err := json.Unmarshal([]byte(text), &f.report); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := json.Unmarshal(file, &f.report); err != nil {
		return nil, err
	}
	log, err := os.ReadFile(s.control.File("berth.log"))
	f.log = string(log)
	return &f, err
}

// comparisons are the values of berth_shadow_comparisons_total by outcome.
func comparisons(metrics string) map[string]int {
	found := map[string]int{}
	for line := range strings.Lines(metrics) {
		labels, ok := strings.CutPrefix(line, "berth_shadow_comparisons_total{")
		if !ok {
			continue
		}
		_, outcome, _ := strings.Cut(labels, `outcome="`)
		outcome, _, _ = strings.Cut(outcome, `"`)
		value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		found[outcome] += int(value)
	}
	return found
}

func memory(metrics string) int64 {
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, "process_resident_memory_bytes "); ok {
			bytes, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return int64(bytes) >> 20
		}
	}
	return 0
}

// cutOff returns whether searches for an explanation that were cut off are the only violations.
func (f *findings) cutOff(wrong []string) (bool, error) {
	ofDisagreements := regexp.MustCompile(`^(\d+ x |disagreement: )`)
	if slices.ContainsFunc(wrong, func(what string) bool { return !ofDisagreements.MatchString(what) }) {
		return false, nil
	}
	for _, raw := range f.report.Disagreements {
		var one struct{ Because string }
		if err := json.Unmarshal(raw, &one); err != nil {
			return false, err
		}
		if one.Because != "the search for an explanation reached its limit" {
			return false, nil
		}
	}
	return len(f.report.Disagreements) > 0, nil
}

// wrong returns all violations; bindings is the number of bindings.
func (f *findings) wrong(bound int64, sampling bool) []string {
	var wrong []string
	addError := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, outcome := range []string{"worse", "infeasible", "placeable", "devices", "message", "nomination", "error", "missed"} {
		if count := f.report.outcome(outcome) - f.leftOut[outcome]; count > 0 {
			addError("%d x %s", count, outcome)
		}
	}
	for _, one := range f.report.Disagreements {
		addError("disagreement: %s", one)
	}
	if sampled := f.report.outcome("sampled"); sampled > 0 != sampling {
		addError("%d decisions are explained by sampling", sampled)
	}
	for _, one := range f.report.Explained {
		if one.Because == "" {
			addError("%s: %s without a reason", one.Pod, one.Outcome)
		}
	}
	compared := f.report.outcome("same") + f.report.outcome("tie") + f.report.outcome("sampled") + f.report.outcome("raced")
	if int64(compared) < bound*98/100 {
		addError("%d bindings, but only %d compared", bound, compared)
	}
	if f.report.outcome("unschedulable") == 0 || f.report.outcome("tie") == 0 {
		addError("no failure or no tie has been compared: the workload is too easy")
	}
	for outcome, count := range f.metrics {
		if reported := f.report.outcome(outcome); reported < count {
			addError("the metrics count %d x %s, the report %d", count, outcome, reported)
		}
	}
	if f.ended != "" {
		addError("berth ended with %s", f.ended)
	}
	for _, word := range []string{"forbidden", "Forbidden", "panic", "writes nothing to the cluster"} {
		if strings.Contains(f.log, word) {
			addError("berth's log contains %q", word)
		}
	}
	if !strings.Contains(f.log, "Shadow report") {
		addError("no report in berth's log")
	}
	return wrong
}

// checkAudit returns the reader's requests other than reads.
func checkAudit(log *controlplane.AuditLog) (wrong []string) {
	requests, err := log.Next(user)
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range requests {
		if !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			wrong = append(wrong, fmt.Sprintf("berth sent %s %s", r.Verb, r.RequestURI))
		}
		if r.ResponseStatus.Code == http.StatusForbidden {
			wrong = append(wrong, fmt.Sprintf("berth was denied %s %s", r.Verb, r.RequestURI))
		}
	}
	if len(requests) == 0 {
		wrong = append(wrong, "the audit log is empty")
	}
	fmt.Printf("%d requests of %s in the audit log, all of them reads\n", len(requests), user)
	return wrong
}
