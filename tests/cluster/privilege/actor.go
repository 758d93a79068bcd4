package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const system = "kube-system"

// actor is a service account for a berth process. The first one has the shipped roles.
type actor struct {
	*options
	control  *controlplane.ControlPlane
	children *controlplane.Children
	audit    *controlplane.AuditLog
	provided provided

	name        string                 // also of the lease
	taken       *taken                 // nil: nothing
	permissions []permission           // of resources that the API server has
	rules       [2][]rbacv1.PolicyRule // of the ClusterRole and the Role, shipped
	token       string
	scrapers    []*scraper
	proxies     []*controlplane.HTTPSProxy
	schedulers  []*controlplane.Child
	deleted     int // fillers
	disturbed   time.Time

	used    map[permission]int
	refused map[permission]int
	wrong   []string
}

func (a *actor) addError(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

func (a *actor) user() string { return "system:serviceaccount:" + system + ":" + a.name }

func (a *actor) title() string {
	if a.taken == nil {
		return "the roles as they are"
	}
	return strings.TrimPrefix(strings.ReplaceAll(a.name, "-", " "), "berth ")
}

// inapplicable is the number of shipped permissions that are not in a.permissions.
func (a *actor) inapplicable() int {
	return len(permissionsOf("", a.rules[0])) + len(permissionsOf(system, a.rules[1])) - len(a.permissions)
}

// wanted are the permissions that this actor must use, or miss.
func (a *actor) wanted() (all []permission) {
	for _, p := range a.permissions {
		if a.taken == nil || a.taken.lacks(p) && !p.implied() {
			all = append(all, p)
		}
	}
	return all
}

func (a *actor) done() string {
	if a.taken == nil {
		return fmt.Sprintf("%d used", len(a.used))
	}
	return fmt.Sprintf("%d refused", len(a.refused))
}

// cast reads the shipped roles, and creates one actor with them and one for each removed permission.
func cast(ctx context.Context, control *controlplane.ControlPlane) ([]*actor, error) {
	wide, err := control.Client.RbacV1().ClusterRoles().Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	narrow, err := control.Client.RbacV1().Roles(system).Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	provided, err := providedBy(control)
	if err != nil {
		return nil, err
	}
	permissions := append(permissionsOf("", wide.Rules), permissionsOf(system, narrow.Rules)...)
	permissions = slices.DeleteFunc(permissions, func(p permission) bool { return !provided.covers(p) })
	make := func(name string, t *taken) *actor {
		return &actor{control: control, provided: provided, name: name, taken: t, permissions: permissions, rules: [2][]rbacv1.PolicyRule{wide.Rules, narrow.Rules},
			used: map[permission]int{}, refused: map[permission]int{}}
	}
	actors := []*actor{make("berth", nil)}
	for _, t := range allTaken(permissions) {
		actors = append(actors, make("berth-"+t.name, &t))
	}
	return actors, nil
}

// prepare creates the account, its workload and the clients of its metrics.
func (a *actor) prepare(ctx context.Context) error {
	accounts := a.control.Client.CoreV1().ServiceAccounts(system)
	if a.taken != nil {
		if err := a.makeRoles(ctx); err != nil {
			return err
		}
	}
	token, err := accounts.CreateToken(ctx, a.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	a.token = token.Status.Token
	return a.makeWork(ctx)
}

// makeRoles creates the shipped roles for another account and lease, without the removed permission.
func (a *actor) makeRoles(ctx context.Context) error {
	rename := func(name string) string {
		if name == "berth" {
			return a.name
		}
		return name
	}
	meta := metav1.ObjectMeta{Name: a.name}
	if _, err := a.control.Client.CoreV1().ServiceAccounts(system).Create(ctx, &v1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: a.name}}
	rbac := a.control.Client.RbacV1()
	wide := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: without("", a.rules[0], a.taken.lacks, rename)}
	if _, err := rbac.ClusterRoles().Create(ctx, wide, metav1.CreateOptions{}); err != nil {
		return err
	}
	narrow := &rbacv1.Role{ObjectMeta: meta, Rules: without(system, a.rules[1], a.taken.lacks, rename)}
	if _, err := rbac.Roles(system).Create(ctx, narrow, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: a.name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = rbac.RoleBindings(system).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: a.name}}, metav1.CreateOptions{})
	return err
}

// play runs berth until every permission was used or missed, or a timeout.
func (a *actor) play(ctx context.Context) error {
	defer a.stop()
	// Lists are streamed; servers before 1.32 only support ordinary lists.
	lists := a.taken != nil && a.taken.verb == "list"
	if err := a.start(!lists); err != nil {
		return err
	}
	if a.taken == nil {
		if err := a.start(false); err != nil { // the standby
			return err
		}
	}
	missing := a.wanted()
	for deadline := time.Now().Add(40 * time.Second); len(missing) > 0 && time.Now().Before(deadline); {
		if err := a.disturb(ctx); err != nil {
			return err
		}
		if err := controlplane.Pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		if err := a.readAudit(); err != nil {
			return err
		}
		missing = a.missing()
	}
	for _, p := range missing {
		switch {
		case a.taken == nil:
			a.addError("never used: %s", p)
		case a.refused[p] == 0:
			a.addError("never asked for: %s", p)
		default:
			a.addError("the log does not name what is missing: %s", p)
		}
	}
	for p, count := range a.refused {
		if count > maxDenied {
			a.addError("asked %d times, in vain: %s", count, p)
		}
	}
	if a.taken == nil {
		return a.handOver(ctx)
	}
	return nil
}

// maxDenied is the maximum number of denied requests in a few seconds: the number of pods, and some retries.
const maxDenied = 60

func (a *actor) missing() (missing []permission) {
	log := a.log(0)
	for _, p := range a.wanted() {
		if a.taken == nil && a.used[p] == 0 || a.taken != nil && !(a.refused[p] > 0 && p.namedIn(log)) {
			missing = append(missing, p)
		}
	}
	return missing
}

// handOver stops the leader, so that the standby has to prove that its view is fresh.
func (a *actor) handOver(ctx context.Context) error {
	if why := a.schedulers[0].Stop(); why != "" {
		a.addError("the leader exited with %s", why)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(a.log(1), "All writes of the previous leader have been received"); {
		if time.Now().After(deadline) {
			a.addError("no replica took over")
			break
		}
		if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return a.readAudit()
}

// readAudit evaluates the new requests in the audit log.
func (a *actor) readAudit() error {
	requests, err := a.audit.Next(a.user())
	if err != nil {
		return err
	}
	for _, r := range requests {
		forbidden := r.ResponseStatus.Code == http.StatusForbidden
		if r.ObjectRef == nil { // discovery, which everyone may read
			if forbidden {
				a.addError("forbidden: %s %s", r.Verb, r.RequestURI)
			}
			continue
		}
		why := r.Annotations["authorization.k8s.io/reason"]
		shippedRules := strings.Contains(why, fmt.Sprintf("%q of ClusterRole %q", a.name, a.name)) ||
			strings.Contains(why, fmt.Sprintf("\"%s/%s\" of Role %q", a.name, system, a.name))
		switch {
		case forbidden && a.taken == nil:
			a.addError("forbidden: %s %s", r.Verb, r.RequestURI)
		case !forbidden && !shippedRules:
			a.addError("%s %s: not by our roles (%s)", r.Verb, r.RequestURI, why)
		}
		for _, p := range a.permissions {
			mine := p
			if mine.Name == "berth" {
				mine.Name = a.name
			}
			if !mine.covers(r) {
				continue
			}
			if forbidden {
				a.refused[p]++
			} else {
				a.used[p]++
			}
		}
	}
	return nil
}

// start starts a scheduler behind its own proxy, which drops the response to the first binding.
func (a *actor) start(streaming bool) error {
	var lost atomic.Bool
	proxy, err := controlplane.StartHTTPSProxy(a.control, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !streaming && controlplane.RefuseStreamedList(w, r):
			case strings.HasSuffix(r.URL.Path, "/binding") && !lost.Swap(true):
				controlplane.LoseAnswer(w, r, next)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	if err != nil {
		return err
	}
	a.proxies = append(a.proxies, proxy)
	name := fmt.Sprintf("%s-%d", a.name, len(a.schedulers))
	kubeconfig, err := a.control.WriteTokenKubeconfig(proxy.URL, name, a.token)
	if err != nil {
		return err
	}
	config := a.control.File(name + ".yaml")
	if err := os.WriteFile(config, []byte(a.config(kubeconfig)), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	scheduler, err := a.children.Start(name, []string{a.Berth, "scheduler"}, "--config="+config, "-v=2",
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--berth-http-address=127.0.0.1:0")
	if err != nil {
		return err
	}
	a.schedulers = append(a.schedulers, scheduler)
	return a.addScrapers(ports[0])
}

func (a *actor) config(kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
leaderElection:
  leaderElect: true
  leaseDuration: 4s
  renewDeadline: 3s
  retryPeriod: 500ms
  resourceName: %s
profiles:
- schedulerName: %s
`, kubeconfig, a.name, a.name)
}

func (a *actor) log(scheduler int) string {
	text, _ := os.ReadFile(a.control.File(fmt.Sprintf("%s-%d.log", a.name, scheduler)))
	return string(text)
}

func (a *actor) stop() {
	for _, s := range a.schedulers {
		s.Signal(syscall.SIGTERM)
	}
	for _, p := range a.proxies {
		p.Stop()
	}
}
