// Command migrate runs `berth migrate check` on a real API server: on an ordinary cluster, and on one with
// each checked feature and a configuration with an unknown plugin. Each must be found with its level and exit
// code, also by a user with read permissions only. The API server's audit log must contain no POST except
// access reviews.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	verbose bool
	roles   string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("migrate", "--berth PATH", "Lets berth migrate check look at a real API server.")
	flags.BoolVar(&o.verbose, "verbose", false, "print the output of berth migrate check")
	flags.StringVar(&o.roles, "manifests", "", "the directory deploy/rbac; found from the root of the tree or tests/")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if err := controlplane.InTree(&o.roles, "deploy/rbac"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("migrate", parse, run) }

// stage is a cluster with the users of the tests.
type stage struct {
	*options
	control       *controlplane.ControlPlane
	reader        string // kubeconfigs
	noPermissions string
	self          string // of system:kube-scheduler
	// The URL of a running extender.
	extender string
}

func run(ctx context.Context, o *options, directory string) error {
	began := time.Now()
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.StartAudited(ctx, o.Real, directory, children, "",
		"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true")
	if err != nil {
		return err
	}
	extender := httptest.NewServer(http.NotFoundHandler())
	defer extender.Close()
	s := &stage{options: o, control: control, extender: extender.URL}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	wrong, checks := 0, 0
	for _, scenario := range scenarios {
		for _, manifest := range scenario.manifests {
			if err := s.apply(ctx, manifest); err != nil {
				return fmt.Errorf("%s: %w", scenario.name, err)
			}
		}
		for _, violation := range s.play(ctx, &scenario, &checks) {
			wrong++
			fmt.Printf("VIOLATION: %s: %s\n", scenario.name, violation)
		}
	}
	control.APIServer.Kill()
	for _, violation := range append(s.playWithoutServer(ctx), s.written()...) {
		wrong++
		fmt.Printf("VIOLATION: %s\n", violation)
	}
	if wrong > 0 {
		return fmt.Errorf("%d violations", wrong)
	}
	fmt.Printf("%d looks at clusters, %d findings as expected, nothing written; %.0f s\n", len(scenarios), checks, time.Since(began).Seconds())
	return nil
}

// prepare creates the users: an administrator, one with all read permissions and one without permissions.
func (s *stage) prepare(ctx context.Context) (err error) {
	if s.self, err = s.control.WriteKubeconfig(s.control.URL, "itself", "cert"); err != nil {
		return err
	}
	_, err = s.control.Client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = s.control.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "reader"}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if s.reader, err = s.account(ctx, "reader"); err != nil {
		return err
	}
	s.noPermissions, err = s.account(ctx, "no-permissions")
	return err
}

func (s *stage) account(ctx context.Context, name string) (string, error) {
	accounts := s.control.Client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return s.control.WriteTokenKubeconfig(s.control.URL, name, token.Status.Token)
}

// apply applies the text of a manifest, or the directory of the shipped roles.
func (s *stage) apply(ctx context.Context, manifest string) error {
	args := []string{"apply", "--server-side", "-f", "-"}
	if manifest == shippedRoles {
		args = []string{"apply", "-k", s.roles}
	}
	_, err := s.control.Kubectl(ctx, strings.NewReader(manifest), args...)
	return err
}

// report is the output of -o json.
type report struct {
	Findings []struct {
		Level, Topic, What, Remedy string
		Names                      []string
		Count                      int
	}
	Warnings, Blockers, ExitCode int
}

func (s *stage) check(ctx context.Context, kubeconfig string, args ...string) (code int, stdout, stderr string) {
	command := exec.CommandContext(ctx, s.Berth, append([]string{"migrate", "check", "--kubeconfig=" + kubeconfig}, args...)...)
	var out, errs strings.Builder
	command.Stdout, command.Stderr = &out, &errs
	_ = command.Run()
	if s.verbose {
		fmt.Printf("berth migrate check %s\n%s%s\n", strings.Join(args, " "), out.String(), errs.String())
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

func (s *stage) play(ctx context.Context, scenario *scenario, checks *int) (wrong []string) {
	kubeconfig := map[string]string{"": s.control.AdminKubeconfig, "reader": s.reader, "no-permissions": s.noPermissions, "itself": s.self}[scenario.as]
	args := append([]string{}, scenario.args...)
	for flag, text := range scenario.files {
		path := s.control.File(strings.TrimLeft(flag, "-") + ".yaml")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, extenderHere, s.extender)), 0o600); err != nil {
			return []string{err.Error()}
		}
		args = append(args, flag+"="+path)
	}
	if s.verbose {
		s.check(ctx, kubeconfig, args...)
	}
	code, out, errs := s.check(ctx, kubeconfig, append(args, "-o", "json")...)
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return []string{fmt.Sprintf("exit code %d, no JSON: %v: %s%s", code, err, out, errs)}
	}
	if code != scenario.code || r.ExitCode != code {
		wrong = append(wrong, fmt.Sprintf("exit code %d, in the report %d; expected %d", code, r.ExitCode, scenario.code))
	}
	for _, want := range scenario.wants {
		*checks++
		found := ""
		for _, finding := range r.Findings {
			if strings.Contains(finding.What, want.what) {
				found = finding.Level
			}
		}
		if found != want.level {
			wrong = append(wrong, fmt.Sprintf("%q: expected %q, found %q in\n%s", want.what, want.level, found, out))
		}
	}
	grave := 0
	for _, want := range scenario.wants {
		if want.level == "warning" || want.level == "blocker" {
			grave++
		}
	}
	if r.Warnings+r.Blockers != grave {
		wrong = append(wrong, fmt.Sprintf("%d warnings and blockers, expected %d:\n%s", r.Warnings+r.Blockers, grave, out))
	}
	return wrong
}

// playWithoutServer uses a missing server, a missing file and an invalid file.
func (s *stage) playWithoutServer(ctx context.Context) (wrong []string) {
	for _, c := range []struct{ kubeconfig, output string }{
		{s.control.AdminKubeconfig, s.control.URL + ": dial tcp "},
		{"/no/such/file", "Error: stat /no/such/file: no such file or directory"},
	} {
		if code, _, output := s.check(ctx, c.kubeconfig); code != 1 || !strings.Contains(output, c.output) {
			wrong = append(wrong, fmt.Sprintf("exit code %d, %q; expected 1, %q", code, output, c.output))
		}
	}
	return wrong
}

// written returns berth's requests other than reads and reviews, according to the audit log.
func (s *stage) written() (wrong []string) {
	requests, err := s.control.AuditLog().Next("")
	if err != nil {
		return []string{err.Error()}
	}
	count := 0
	for _, r := range requests {
		if !strings.HasSuffix(r.UserAgent, "/migrate") {
			continue
		}
		count++
		review := r.Verb == "create" && r.ObjectRef != nil && strings.HasSuffix(r.ObjectRef.Resource, "reviews")
		if r.Verb != "get" && r.Verb != "list" && !review {
			wrong = append(wrong, fmt.Sprintf("%s %s", r.Verb, r.RequestURI))
		}
	}
	if count == 0 {
		wrong = append(wrong, "the audit log contains no request of berth")
	}
	return wrong
}
