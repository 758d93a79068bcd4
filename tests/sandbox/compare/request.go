package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// request is sent to both servers.
type request struct {
	name   string // the tested behaviour
	method string
	path   string
	// body may contain values of an earlier response: ${uid:/api/v1/...} and ${version:/api/v1/...}.
	body string
	// kind is the media type of the body: json (if empty), yaml, smp, merge, jsonpatch, apply, or a complete one.
	kind   string
	accept string // media type; table: that of kubectl
	// only limits the comparison: code (the HTTP status), message (of a Status), or dotted paths, separated by commas.
	// Empty: everything except what must differ.
	only string
	// differs is the reason for comparing only the HTTP status: a deliberate difference of the sandbox.
	differs string
	// without are dotted paths that are not compared.
	without string
}

type response struct {
	status   int
	header   http.Header
	body     []byte
	warnings []string
}

var mediaTypes = map[string]string{
	"": "application/json", "json": "application/json", "yaml": "application/yaml",
	"smp": "application/strategic-merge-patch+json", "merge": "application/merge-patch+json",
	"jsonpatch": "application/json-patch+json", "apply": "application/apply-patch+yaml",
}

const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

func (s *server) do(ctx context.Context, r request) (*response, error) {
	body, err := s.fill(ctx, r.body)
	if err != nil {
		return nil, err
	}
	path, err := s.fill(ctx, r.path)
	if err != nil {
		return nil, err
	}
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		httpRequest.Header.Set("Authorization", "Bearer "+s.token)
	}
	httpRequest.Header.Set("User-Agent", "compare/v1")
	httpRequest.Header.Set("Accept", "application/json")
	if r.accept == "table" {
		httpRequest.Header.Set("Accept", tableType)
	} else if r.accept != "" {
		httpRequest.Header.Set("Accept", r.accept)
	}
	if r.body != "" {
		kind, known := mediaTypes[r.kind]
		if !known {
			kind = r.kind
		}
		httpRequest.Header.Set("Content-Type", kind)
	}
	got, err := s.client.Do(httpRequest)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	content, err := io.ReadAll(got.Body)
	return &response{got.StatusCode, got.Header, content, got.Header.Values("Warning")}, err
}

var placeholder = regexp.MustCompile(`\$\{(uid|version):([^}]+)\}`)

// fill inserts the server's own uids and resource versions.
func (s *server) fill(ctx context.Context, text string) (string, error) {
	var failed error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		got, err := s.do(ctx, request{method: "GET", path: parts[2]})
		if err != nil {
			failed = err
			return ""
		}
		var object struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		if err := json.Unmarshal(got.body, &object); err != nil {
			failed = fmt.Errorf("%s: %w", parts[2], err)
		}
		if parts[1] == "uid" {
			return object.Metadata.UID
		}
		return object.Metadata.ResourceVersion
	})
	return filled, failed
}

// writeKey creates the key that signs service account tokens.
func writeKey(directory string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "accounts.key")
	return path, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
