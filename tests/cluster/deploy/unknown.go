package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// unknown is a manifest that differs from kubeadm's.
type unknown struct {
	name    string
	from    string // text in kubeadm's manifest
	to      string
	message string // expected error; empty: accepted
}

// unknowns: the script must reject manifests that it cannot parse, and accept equivalent forms.
var unknowns = []unknown{
	{"another kind", "kind: Pod", "kind: Job", "it is not a Pod"},
	{"another program", "    - kube-scheduler\n", "    - sh\n    - kube-scheduler\n", `its command begins with "sh"`},
	{"another container", "    name: kube-scheduler\n", "    name: scheduler\n", `its container has the name "scheduler"`},
	{"two containers", "  hostNetwork:", "  - name: another\n    image: example/another\n  hostNetwork:", "it has 2 containers"},
	{"no image", "    image: ", "    picture: ", "its container has no image"},
	{"two documents", "status: {}\n", "status: {}\n---\nkind: Pod\n", "more than one document"},
	{"carriage returns", "kind: Pod\n", "kind: Pod\r\n", "carriage returns"},
	{"tabs", "  hostNetwork: true", "\thostNetwork: true", "tabs"},
	{"a last line that does not end", "status: {}\n", "status: {}", "the changes cannot be reverted"},
	{"a security context in one line", "  securityContext:\n    seccompProfile:\n      type: RuntimeDefault\n",
		"  securityContext: {seccompProfile: {type: RuntimeDefault}}\n", "written in one line"},
	{"not root, without another user", "  securityContext:\n", "  securityContext:\n    runAsNonRoot: true\n", "a user other than root"},
	{"nothing", "", "", "it is not a Pod"},

	{"a user", "  securityContext:\n", "  securityContext:\n    runAsUser: 991\n", ""},
	{"a user in one line", "  securityContext:\n    seccompProfile:\n      type: RuntimeDefault\n", "  securityContext: {runAsUser: 991}\n", ""},
	{"no security context", "  securityContext:\n    seccompProfile:\n      type: RuntimeDefault\n", "", ""},
	{"comments", "    image: example/", "    # who\n    image: \"example/kube\"  # as it was & is: example/", ""},
	{"the program by its path", "    - kube-scheduler\n", "    - /usr/local/bin/kube-scheduler\n", ""},
	{"the command in one line", "  - command:\n    - kube-scheduler\n", "  - args: []\n    command: [\"kube-scheduler\", \"--v=2\"]\n    env:\n", ""},
}

// unknownManifests runs all cases: a rejected manifest stays unchanged without a backup; an accepted one is
// restored exactly.
func (s *stage) unknownManifests(ctx context.Context) error {
	h, err := s.kubeadmHost(false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(h.root)
	kubeadms, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	for _, one := range unknowns {
		text := ""
		if one.from != "" {
			if !strings.Contains(string(kubeadms), one.from) {
				s.AddError("%s: kubeadm does not write %q any more:\n%s", one.name, one.from, kubeadms)
			}
			text = strings.Replace(string(kubeadms), one.from, one.to, 1)
		}
		if err := os.WriteFile(h.manifest(), []byte(text), 0o600); err != nil {
			return err
		}
		h.runCase(ctx, one, text)
	}
	if err := h.copyBeside(ctx, string(kubeadms)); err != nil {
		return err
	}
	return h.upgraded(ctx)
}

func (h *host) runCase(ctx context.Context, one unknown, text string) {
	output, err := h.script(ctx)
	if one.message != "" {
		if err == nil || !strings.Contains(output, one.message) {
			h.AddError("%s: expected %q: %s", one.name, one.message, output)
		}
	} else {
		if err != nil {
			h.AddError("%s: %v", one.name, err)
		}
		replaced, _ := os.ReadFile(h.manifest())
		if !strings.Contains(string(replaced), "    image: berth:0.1.0") || strings.Count(string(replaced), "runAsUser: ") != 1 {
			h.AddError("%s: %s", one.name, replaced)
		}
		if _, err := h.script(ctx, "--back"); err != nil {
			h.AddError("%s: %v", one.name, err)
		}
	}
	if now, _ := os.ReadFile(h.manifest()); string(now) != text {
		h.AddError("%s: the manifest is not what it was: %s", one.name, now)
	}
	if left, _ := filepath.Glob(h.path("berth/*")); len(left) > 0 {
		h.AddError("%s: there is still %v", one.name, left)
	}
}

// copyBeside checks that the script rejects a copy of the manifest or a backup in the manifests directory,
// where the kubelet would run it.
func (h *host) copyBeside(ctx context.Context, text string) error {
	if err := os.WriteFile(h.manifest(), []byte(text), 0o600); err != nil {
		return err
	}
	beside := h.manifest() + ".old"
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		return err
	}
	if output, err := h.script(ctx); err == nil || !strings.Contains(output, beside+" is a kube-scheduler, too") {
		h.AddError("a copy in the folder: %s", output)
	}
	if err := os.Remove(beside); err != nil {
		return err
	}
	if output, err := h.script(ctx, "--backup="+h.path("manifests/old")); err == nil || !strings.Contains(output, "the kubelet would run the backup") {
		h.AddError("a backup in the folder: %s", output)
	}
	// A manual change of Berth's manifest is saved by --back.
	if _, err := h.script(ctx); err != nil {
		return err
	}
	replaced, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	changed := strings.Replace(string(replaced), "    - --leader-elect=true\n", "    - --leader-elect=true\n    - --v=4\n", 1)
	if err := os.WriteFile(h.manifest(), []byte(changed), 0o600); err != nil {
		return err
	}
	if _, err := h.script(ctx, "--back"); err != nil {
		return err
	}
	if kept, _ := os.ReadFile(h.path("berth/berth.yaml")); string(kept) != changed {
		h.AddError("what was changed by hand is not kept: %s", kept)
	}
	return nil
}

// upgraded lets kubeadm write a new manifest, and upgrades Berth. The backup is kubeadm's latest manifest.
func (h *host) upgraded(ctx context.Context) error {
	if err := os.RemoveAll(h.path("berth")); err != nil {
		return err
	}
	first, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	second := strings.Replace(string(first), ":v1.37.1", ":v1.37.2", 1)
	if _, err := h.script(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(h.manifest(), []byte(second), 0o600); err != nil {
		return err
	}
	for _, image := range []string{"example/berth:0.1.0", "example/berth:0.2.0"} {
		if _, err := h.script(ctx, "--image="+image); err != nil {
			return err
		}
		if now, _ := os.ReadFile(h.manifest()); !strings.Contains(string(now), "    image: "+image+"\n") || strings.Count(string(now), "# added for Berth") != 1 {
			h.AddError("upgraded to %s: %s", image, now)
		}
	}
	if older, _ := os.ReadFile(h.path("berth/kube-scheduler.yaml.older")); string(older) != string(first) {
		h.AddError("the manifest before the upgrade is not kept: %s", older)
	}
	if _, err := h.script(ctx, "--back"); err != nil {
		return err
	}
	about, err := os.Stat(h.manifest())
	if err != nil {
		return err
	}
	if now, _ := os.ReadFile(h.manifest()); string(now) != second || about.Mode() != 0o600 {
		h.AddError("after an upgrade and back (%v): %s", about.Mode(), now)
	}
	return nil
}
