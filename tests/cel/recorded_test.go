package main

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The recorded replies are still those of cel-go.
func TestRecordedReplies(t *testing.T) {
	file, err := os.Open("expressions.ndjson.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	lines := bufio.NewScanner(decoder)
	lines.Buffer(nil, 1<<24)
	compared := 0
	for ; lines.Scan(); compared++ {
		var recorded struct {
			request
			Reply reply `json:"reply"`
		}
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			t.Fatal(err)
		}
		if want, got := text(evaluate(recorded.request)), text(recorded.Reply); want != got {
			t.Errorf("%s\n  cel-go   %s\n  recorded %s", recorded.Expression, want, got)
		}
	}
	if lines.Err() != nil || compared < 1000 {
		t.Fatalf("%d cases, error %v", compared, lines.Err())
	}
}
