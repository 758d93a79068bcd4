package main

import (
	"context"
	"crypto/tls"
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
	// Headers that may differ; the reason is a comment at the request.
	except []string
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
	}
	for _, name := range compared {
		if wanted.headers[name] != got.headers[name] && !contains(q.except, name) {
			fmt.Fprintf(&text, "  %s: %q, kube-scheduler: %q\n", name, got.headers[name], wanted.headers[name])
		}
	}
	return text.String()
}

func contains(list []string, text string) bool {
	for _, item := range list {
		if item == text {
			return true
		}
	}
	return false
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

// names returns the text before the first delimiter of each line; the delimiters are random.
func names(body string) string {
	var kept []string
	for _, line := range strings.Split(body, "\n") {
		if at := strings.IndexAny(line, ":="); at > 0 {
			line = line[:at]
		}
		if strings.HasPrefix(line, "Go version") || strings.HasPrefix(line, "Started") || strings.HasPrefix(line, "Up") {
			line, _, _ = strings.Cut(line, " ")
		}
		kept = append(kept, strings.Fields(line + " -")[0])
	}
	return strings.Join(kept, "\n")
}

// timeless removes the parts of JSON that vary between processes.
func timeless(body string) string {
	for _, key := range []string{"startTime", "goVersion"} {
		body = regexp.MustCompile(`"`+key+`":( ?)"[^"]*"`).ReplaceAllString(body, `"`+key+`":$1""`)
	}
	// Another request covers /configz.
	body = regexp.MustCompile(`\s*"/configz",`).ReplaceAllString(body, "")
	return regexp.MustCompile(`"uptimeSeconds":( ?)\d+`).ReplaceAllString(body, `"uptimeSeconds":${1}0`)
}
