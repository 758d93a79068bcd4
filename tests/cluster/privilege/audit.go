package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// request is a line of the audit log, as far as it matters.
type request struct {
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  *struct {
		Resource, Subresource, Namespace, Name, APIGroup string
	}
	ResponseStatus struct{ Code int }
	Annotations    map[string]string
}

func (r request) resource() string {
	if r.ObjectRef.Subresource == "" {
		return r.ObjectRef.Resource
	}
	return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
}

// auditLog is read while it grows.
type auditLog struct {
	path   string
	offset int64
	rest   []byte
}

// next returns the requests of a user since the last call.
func (a *auditLog) next(user string) ([]request, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	a.offset += int64(len(text))
	a.rest = append(a.rest, text...)
	var found []request
	for {
		line, rest, whole := bytes.Cut(a.rest, []byte("\n"))
		if !whole {
			return found, nil
		}
		a.rest = rest
		if !bytes.Contains(line, []byte(`"`+user+`"`)) {
			continue
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("the audit log: %w", err)
		}
		if r.User.Username == user {
			found = append(found, r)
		}
	}
}
