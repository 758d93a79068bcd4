package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	conformance "cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
)

// Files of the language's conformance tests that need protocol buffer messages, or extensions that Kubernetes does
// not enable. Their expressions are evaluated by neither program.
var skippedFiles = map[string]string{
	"block_ext":    "cel.@block is made by optimizers only",
	"dynamic":      "messages",
	"enums":        "messages",
	"fields":       "messages",
	"proto2":       "messages",
	"proto2_ext":   "messages",
	"proto3":       "messages",
	"unknowns":     "partial evaluation",
	"wrappers":     "messages",
	"namespace":    "containers",
	"encoders_ext": "base64 is not enabled",
}

// The conformance tests of the language, from the module cel.dev/expr. Expressions with variables or messages are
// left out, and strings with unassigned code points, which differ only in how this program shows them; the rest must have the same result in both programs, which is stricter than the tests' own expectations
// where Kubernetes' environment differs from the language's default.
func conformanceCases() []named {
	var cases []named
	files, err := filepath.Glob(filepath.Join(moduleDirectory("cel.dev/expr"), "tests/simple/testdata/*.textproto"))
	if err != nil || len(files) == 0 {
		fail("no conformance tests found")
	}
	for name := range skippedFiles {
		if !slices.ContainsFunc(files, func(path string) bool { return filepath.Base(path) == name+".textproto" }) {
			fail("there is no file " + name + " to skip")
		}
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".textproto")
		if skippedFiles[name] != "" {
			continue
		}
		bytes, err := os.ReadFile(path)
		if err != nil {
			fail(err.Error())
		}
		var file conformance.SimpleTestFile
		if err := (prototext.UnmarshalOptions{DiscardUnknown: true, AllowPartial: true}).Unmarshal(bytes, &file); err != nil {
			fail(path + ": " + err.Error())
		}
		for _, section := range file.Section {
			for _, test := range section.Test {
				if len(test.TypeEnv) > 0 || len(test.Bindings) > 0 || test.Container != "" || test.DisableMacros || test.DisableCheck ||
					usesMessages(test.Expr) || strings.Contains(test.Name, "unassigned_code_point") {
					continue
				}
				full := name + "/" + section.Name + "/" + test.Name
				cases = append(cases, named{full, request{Expression: test.Expr, Device: exampleDevice()}})
			}
		}
	}
	return cases
}

func usesMessages(expression string) bool {
	for _, part := range []string{"google.protobuf.", "TestAllTypes", "NestedTestAllTypes", "cel.expr."} {
		if strings.Contains(expression, part) {
			return true
		}
	}
	return false
}

func moduleDirectory(module string) string {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		fail("go list -m " + module + ": " + err.Error())
	}
	return strings.TrimSpace(string(output))
}
