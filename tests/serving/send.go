package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// request is an HTTPS request to a scheduler.
type request struct {
	name    string
	method  string // empty: GET
	path    string
	cert    string // name of the client certificate
	token   string // name of the token's owner
	headers []string
	body    string
	// same reduces a body to the part that must be equal; nil: all of it.
	same func(string) string
}

type step struct {
	name     string
	before   func(context.Context) error
	pair     string // suffix of the compared processes; empty: those without leader election
	requests []request
}

type answer struct {
	status  int
	body    string
	headers map[string]string
}

// compared are the headers that clients evaluate.
var compared = []string{"Content-Type", "Cache-Control", "X-Content-Type-Options", "Location", "Allow", "Warning",
	"Content-Encoding", "Www-Authenticate", "Retry-After", "Content-Disposition", "X-Go-Pprof"}

func (a *answer) String() string {
	names := make([]string, 0, len(a.headers))
	for name, value := range a.headers {
		names = append(names, name+": "+value)
	}
	sort.Strings(names)
	return fmt.Sprintf("%d\n%s\n\n%s", a.status, strings.Join(names, "\n"), a.body)
}

func (s *stage) send(scheduler string, q request) (*answer, error) {
	config := &tls.Config{InsecureSkipVerify: true}
	if q.cert != "" {
		// Independent of the accepted authorities: some certificates are sent to be rejected.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certs[q.cert], nil }
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 40 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, fmt.Sprintf("https://127.0.0.1:%d%s", s.ports[scheduler], q.path), strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	for _, header := range q.headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	if q.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.tokens[q.token])
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	got := &answer{status: response.StatusCode, body: string(body), headers: map[string]string{}}
	for _, name := range compared {
		if value := response.Header.Get(name); value != "" {
			got.headers[name] = value
		}
	}
	return got, nil
}

// compare returns the differences; empty: none.
func compare(q request, wanted, got *answer) string {
	var text strings.Builder
	if wanted.status != got.status {
		fmt.Fprintf(&text, "  status: %d, kube-scheduler: %d\n", got.status, wanted.status)
	}
	same := q.same
	if same == nil {
		same = func(body string) string { return body }
	}
	if candidateBody, referenceBody := same(got.body), same(wanted.body); candidateBody != referenceBody {
		fmt.Fprintf(&text, "  body: %q\n  kube-scheduler: %q\n", cut(candidateBody), cut(referenceBody))
	} else if q.same != nil && got.body == wanted.body {
		fmt.Fprintf(&text, "  body: only a part is compared, but all of it is equal: %q\n", cut(got.body))
	}
	for _, name := range compared {
		if wanted.headers[name] != got.headers[name] {
			fmt.Fprintf(&text, "  %s: %q, kube-scheduler: %q\n", name, got.headers[name], wanted.headers[name])
		}
	}
	return text.String()
}

func cut(text string) string {
	if len(text) > 1500 {
		return text[:1500] + " ..."
	}
	return text
}

// nothing is for bodies that necessarily differ.
func nothing(string) string { return "" }

// upToError keeps the beginning of an internal error: the text of the refused connection depends on the client library.
func upToError(body string) string {
	return regexp.MustCompile(`(?s)^(Internal Server Error: "[^"]*": ).*`).ReplaceAllString(body, "$1")
}

// families returns the names, types and help of the metrics with one of these prefixes.
func families(prefixes ...string) func(string) string {
	return func(body string) string {
		var kept []string
		for _, line := range strings.Split(body, "\n") {
			fields := strings.SplitN(line, " ", 4)
			if len(fields) < 4 || fields[0] != "#" {
				continue
			}
			for _, prefix := range prefixes {
				if strings.HasPrefix(fields[2], prefix) {
					kept = append(kept, line)
				}
			}
		}
		return strings.Join(kept, "\n")
	}
}

// series returns the samples of some metrics, without their values if those vary.
func series(values bool, prefixes ...string) func(string) string {
	return func(body string) string {
		var kept []string
		for _, line := range strings.Split(body, "\n") {
			for _, prefix := range prefixes {
				if strings.HasPrefix(line, prefix) {
					// Go writes large bounds with an exponent: compare them as numbers.
					line = bound.ReplaceAllStringFunc(line, func(text string) string {
						number, _ := strconv.ParseFloat(text[4:len(text)-1], 64)
						return fmt.Sprintf("le=%q", fmt.Sprint(number))
					})
					if at := strings.LastIndex(line, " "); !values && at > 0 {
						line = line[:at]
					}
					kept = append(kept, line)
				}
			}
		}
		sort.Strings(kept)
		return strings.Join(kept, "\n")
	}
}

var bound = regexp.MustCompile(`le="[^"]*"`)

// timeless removes what varies between processes from /statusz in all its forms: times and the Go version, which Berth
// leaves empty, and the delimiters of the text form, which kube-scheduler chooses at random.
func timeless(body string) string {
	if strings.HasPrefix(body, "\n") {
		body = delimiter.ReplaceAllString(body, "$1: ")
	}
	body = varying.ReplaceAllString(body, "$1")
	return regexp.MustCompile(`(?m)"?$`).ReplaceAllString(body, "")
}

var (
	delimiter = regexp.MustCompile(`(?m)^(Started|Up|Go version|Binary version|Emulation version|Paths)[:= ]+`)
	varying   = regexp.MustCompile(`((?:"?startTime"?|"?goVersion"?|"?uptimeSeconds"?|Started|Up|Go version): ?)(?:"[^"]*"|[^",\n]*)`)
)

// configuration sorts the keys of /configz and removes the values that the test sets differently.
func configuration(body string) string {
	var content map[string]map[string]any
	if err := json.Unmarshal([]byte(body), &content); err != nil {
		return err.Error() + ": " + body
	}
	for _, path := range [][2]string{{"clientConnection", "kubeconfig"}, {"leaderElection", "resourceName"}} {
		if section, ok := content["componentconfig"][path[0]].(map[string]any); ok {
			section[path[1]] = "set by the test"
		}
	}
	sorted, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(sorted)
}

// flags returns the head of /flagz and its flags, one per line, of all its forms, without those that only Berth
// has (docs/differences.md) and without the values that the test sets differently.
func flags(body string) string {
	values := map[string]string{}
	var head string
	if strings.HasPrefix(body, "{") {
		var page struct {
			Kind, APIVersion string
			Flags            map[string]string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			return err.Error() + ": " + body
		}
		head, values = page.Kind+" "+page.APIVersion, page.Flags
	} else if strings.HasPrefix(body, "apiVersion:") {
		text, list, _ := strings.Cut(body, "flags:\n")
		list, tail, _ := strings.Cut(list, "kind:")
		head = text + tail
		for _, line := range strings.Split(strings.TrimSpace(list), "\n") {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			values[name] = value
		}
	} else {
		// The delimiters are random.
		text, list, _ := strings.Cut(body, "for debugging purposes only.\n")
		head = text
		for _, line := range strings.Split(strings.TrimSpace(list), "\n") {
			name := line[:len(line)-len(strings.TrimLeft(line, letters))]
			values[name] = strings.TrimLeft(line[len(name):], ":= ")
		}
	}
	var kept []string
	for name, value := range values {
		if strings.HasPrefix(name, "berth-") || ofOlderReleases[name] {
			continue
		}
		if setByTheTest[name] {
			value = "set by the test"
		}
		kept = append(kept, name+"="+value)
	}
	sort.Strings(kept)
	return head + "\n" + strings.Join(kept, "\n")
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// Paths, ports and names that differ between the two processes.
var setByTheTest = set("config", "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "secure-port",
	"leader-elect-resource-name", "cert-dir")

// Flags that releases before 1.37 had and that Berth still accepts.
var ofOlderReleases = set("port", "address", "policy-config-file", "policy-configmap", "policy-configmap-namespace",
	"use-legacy-policy-config", "algorithm-provider", "scheduler-name", "hard-pod-affinity-symmetric-weight",
	"lock-object-name", "lock-object-namespace", "log-dir", "log-file", "log-file-max-size", "log-backtrace-at",
	"stderrthreshold", "logtostderr", "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers", "one-output",
	"experimental-logging-sanitization")

func set(names ...string) map[string]bool {
	members := map[string]bool{}
	for _, name := range names {
		members[name] = true
	}
	return members
}
