// Records how Kubernetes reads YAML: the answers of sigs.k8s.io/yaml to a table of texts. A unit test compares Berth's
// reader with recorded.json (src/base/yaml_test.cpp); this test compares the file with the library.
//
//	go test ./yaml           # is the file up to date?
//	go test ./yaml -record   # write it
package yaml

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var record = flag.Bool("record", false, "write recorded.json")

// An answer is JSON with sorted keys, or an error; the strict reader refuses equal keys.
type answer struct {
	Text   string `json:"text"`
	JSON   string `json:"json,omitempty"`
	Error  string `json:"error,omitempty"`
	Strict string `json:"strict,omitempty"` // the strict reader's error
}

// Without the escapes of HTML that json.Marshal adds.
func plain(data []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), `\u2028`, "\u2028"), nil
}

func ask(t *testing.T, text string) answer {
	result := answer{Text: text}
	read, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		result.Error = err.Error()
	} else if result.JSON, err = plain(read); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if _, err := yaml.YAMLToJSONStrict([]byte(text)); err != nil && result.Error == "" {
		result.Strict = err.Error()
	}
	return result
}

func TestRecordedAnswers(t *testing.T) {
	var answers []answer
	for _, text := range table() {
		answers = append(answers, ask(t, text))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(answers); err != nil {
		t.Fatal(err)
	}
	if *record {
		if err := os.WriteFile("recorded.json", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile("recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, out.Bytes()) {
		t.Error("recorded.json is outdated: go test ./yaml -record")
	}
}
