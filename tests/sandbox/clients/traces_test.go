package clients

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// OTLP's JSON form has hexadecimal ids, protocol buffers' JSON form base64.
var ids = regexp.MustCompile(`("(?:traceId|spanId|parentSpanId)":")([0-9a-f]+)"`)

func decodeTraces(t *testing.T, body []byte) []*trace.Span {
	t.Helper()
	body = ids.ReplaceAllFunc(body, func(match []byte) []byte {
		parts := ids.FindSubmatch(match)
		raw := must[[]byte](t)(hex.DecodeString(string(parts[2])))
		return append(append(append([]byte{}, parts[1]...), base64.StdEncoding.EncodeToString(raw)...), '"')
	})
	request := &collector.ExportTraceServiceRequest{}
	if err := protojson.Unmarshal(body, request); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var spans []*trace.Span
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			spans = append(spans, scope.Spans...)
		}
	}
	return spans
}

// A collector that rejects the first request and accepts the next ones.
func TestSchedulingAttemptsAreTraced(t *testing.T) {
	var lock sync.Mutex
	var spans []*trace.Span
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		requests++
		if requests == 1 {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if request.Method != http.MethodPost || request.URL.Path != "/v1/traces" || request.Header.Get("Content-Type") != "application/json" || request.Header.Get("X-Token") != "secret" {
			t.Errorf("%s %s %v", request.Method, request.URL, request.Header)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		spans = append(spans, decodeTraces(t, body)...)
	}))
	defer server.Close()

	c := start(t, "--nodes=3")
	headers := writeFile(t, "headers", "X-Token: secret\n")
	run(t, os.Getenv("BERTH"), "scheduler", "--kubeconfig="+c.kubeconfig, "--secure-port=0", "--berth-http-address=127.0.0.1:0",
		"--berth-otlp-endpoint="+server.URL, "--berth-otlp-headers-file="+headers)
	c.pods(t, "traced", "default-scheduler", 5)
	attempts := func() map[string]*trace.Span {
		lock.Lock()
		defer lock.Unlock()
		found := map[string]*trace.Span{}
		for _, span := range spans {
			for _, attribute := range span.Attributes {
				if attribute.Key == "k8s.pod.name" {
					found[attribute.Value.GetStringValue()] = span
				}
			}
		}
		return found
	}
	within(t, 20*time.Second, "traces of five pods", func() bool { return len(attempts()) == 5 })
	attempt := attempts()["traced-0"]
	if len(attempt.TraceId) != 16 || len(attempt.SpanId) != 8 || len(attempt.ParentSpanId) != 0 {
		t.Errorf("ids of %v", attempt)
	}
	if attempt.StartTimeUnixNano >= attempt.EndTimeUnixNano || attempt.Status.GetCode() != trace.Status_STATUS_CODE_OK {
		t.Errorf("times or status of %v", attempt)
	}
	children := map[string]bool{}
	for _, span := range spans {
		if string(span.ParentSpanId) == string(attempt.SpanId) && string(span.TraceId) == string(attempt.TraceId) {
			children[span.Name] = true
			if span.StartTimeUnixNano < attempt.StartTimeUnixNano || span.EndTimeUnixNano > attempt.EndTimeUnixNano {
				t.Errorf("%s is not within the attempt", span.Name)
			}
		}
	}
	for _, point := range []string{"PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind"} {
		if !children[point] {
			t.Errorf("no span for %s, only %v", point, children)
		}
	}
}
