package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// auditPolicy logs one line per answered request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// StartAudited is Start with an audit log. `whose` restricts the log to users by a field of a rule (users:
// [...], userGroups: [...]); empty: all users.
func StartAudited(ctx context.Context, program, directory string, children *Children, whose string, apiServerFlags ...string) (*ControlPlane, error) {
	rules := auditPolicy
	if whose != "" {
		rules += "  " + whose + "\n- level: None\n"
	}
	policy := filepath.Join(directory, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		return nil, err
	}
	return Start(ctx, program, directory, children,
		append([]string{"--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(directory, "audit.log")}, apiServerFlags...)...)
}

// Request is a line of the audit log.
type Request struct {
	Verb, RequestURI, UserAgent string
	RequestReceivedTimestamp    time.Time
	User                        struct{ Username string }
	ObjectRef                   *struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	ResponseStatus              struct{ Code int }
	Annotations                 map[string]string
}

// Resource returns the requested resource in the notation of roles; there must be an ObjectRef.
func (r Request) Resource() string {
	if r.ObjectRef.Subresource == "" {
		return r.ObjectRef.Resource
	}
	return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
}

// AuditLog reads the audit log of a running API server.
type AuditLog struct {
	path   string
	offset int64
	rest   []byte
}

// AuditLog returns a reader at the beginning of the log of a control plane started by StartAudited.
func (c *ControlPlane) AuditLog() *AuditLog { return &AuditLog{path: c.File("audit.log")} }

// Next returns a user's requests since the last call; all users' if user is empty.
func (a *AuditLog) Next(user string) ([]Request, error) {
	if err := a.read(); err != nil {
		return nil, err
	}
	var found []Request
	for {
		line, rest, whole := bytes.Cut(a.rest, []byte("\n"))
		if !whole {
			return found, nil
		}
		a.rest = rest
		// Many users share a log: most lines need not be parsed.
		if user != "" && !bytes.Contains(line, []byte(`"`+user+`"`)) {
			continue
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("the audit log: %w", err)
		}
		if user == "" || r.User.Username == user {
			found = append(found, r)
		}
	}
}

func (a *AuditLog) read() error {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	a.offset += int64(len(text))
	a.rest = append(a.rest, text...)
	return err
}
