package controlplane

import (
	"fmt"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Release is the release of an API server, such as v1.34.4.
type Release struct {
	Name  string
	Minor int
}

// Release asks the API server for its release.
func (c *ControlPlane) Release() (Release, error) {
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return Release{}, err
	}
	return ParseRelease(version.GitVersion)
}

// ReleaseOf is the release of a control plane's program.
func ReleaseOf(program string) (Release, error) {
	out, err := exec.Command(program, "kube-apiserver", "--version").Output()
	if err != nil {
		return Release{}, fmt.Errorf("%s kube-apiserver --version: %w", program, err)
	}
	return ParseRelease(strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes "))
}

// ParseRelease reads "v1.34.4".
func ParseRelease(name string) (Release, error) {
	parts := strings.Split(name, ".")
	if len(parts) < 3 || parts[0] != "v1" {
		return Release{}, fmt.Errorf("%q is not a release such as v1.34.4", name)
	}
	minor, err := strconv.Atoi(parts[1])
	return Release{Name: name, Minor: minor}, err
}

// Pinned returns whether it is the release of tests/go.mod, whose behaviour Berth follows. The version of client-go in
// this program has the same numbers: v0.37.1 of v1.37.1.
func (r Release) Pinned() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	return slices.ContainsFunc(info.Deps, func(module *debug.Module) bool {
		return module.Path == "k8s.io/client-go" && "v1"+strings.TrimPrefix(module.Version, "v0") == r.Name
	})
}

// HasExtendedResources returns whether DeviceClasses provide extended resources by default. Since the same release the API
// server checks writes of a claim's status by their content.
func (r Release) HasExtendedResources() bool { return r.Minor >= 36 }

// DeviceKinds are the kinds of resource.k8s.io/v1 that older releases lack.
type DeviceKinds struct{ Claims, TaintRules bool }

// DeviceKinds asks the API server.
func (c *ControlPlane) DeviceKinds() (kinds DeviceKinds, err error) {
	if kinds.Claims, err = c.Serves("resource.k8s.io/v1", "resourceclaims"); err != nil {
		return kinds, err
	}
	kinds.TaintRules, err = c.Serves("resource.k8s.io/v1", "devicetaintrules")
	return kinds, err
}

// Serves returns whether the API server has a resource: ("resource.k8s.io/v1", "resourceclaims").
func (c *ControlPlane) Serves(groupVersion, plural string) (bool, error) {
	list, err := c.Client.Discovery().ServerResourcesForGroupVersion(groupVersion)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, resource := range list.APIResources {
		if resource.Name == plural {
			return true, nil
		}
	}
	return false, nil
}
