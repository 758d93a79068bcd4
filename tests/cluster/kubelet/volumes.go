package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rootfs describes the file system of a container.
type rootfs struct {
	root    string
	volumes string
	binds   []string // "from to"
}

func (r *rootfs) bind(from, to string) { r.binds = append(r.binds, from+" "+to) }

func (r *rootfs) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(r.root+path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.root+path, []byte(text), 0o644)
}

// place binds a file or a directory to a new path.
func (r *rootfs) place(from, to string) error {
	about, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !about.IsDir() {
		if err := r.write(to, ""); err != nil {
			return err
		}
	} else if err := os.MkdirAll(r.root+to, 0o755); err != nil {
		return err
	}
	r.bind(from, to)
	return nil
}

const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// mounts creates the volumes of a pod and mounts them at the paths of its first container.
func (k *Kubelet) mounts(ctx context.Context, pod *v1.Pod, files *rootfs) error {
	made := make(map[string]string)
	for _, volume := range pod.Spec.Volumes {
		from, err := k.volume(ctx, pod, volume, files.volumes)
		if err != nil {
			return fmt.Errorf("volume %s: %w", volume.Name, err)
		}
		made[volume.Name] = from
	}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		from, there := made[mount.Name]
		if !there {
			return fmt.Errorf("there is no volume %q", mount.Name)
		}
		if err := files.place(from, mount.MountPath); err != nil {
			return err
		}
	}
	if pod.Spec.ServiceAccountName == "" {
		return nil
	}
	from, err := k.account(ctx, pod, files.volumes)
	if err != nil {
		return err
	}
	return files.place(from, accountPath)
}

func (k *Kubelet) volume(ctx context.Context, pod *v1.Pod, volume v1.Volume, folder string) (string, error) {
	switch {
	case volume.HostPath != nil:
		path := k.Host + volume.HostPath.Path
		about, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if kind := volume.HostPath.Type; kind != nil && *kind == v1.HostPathFile && !about.Mode().IsRegular() {
			return "", fmt.Errorf("%s is no file", volume.HostPath.Path)
		}
		return path, nil
	case volume.ConfigMap != nil:
		found, err := k.Control.Client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		files := maps.Clone(found.Data)
		for name, data := range found.BinaryData {
			if files == nil {
				files = make(map[string]string)
			}
			files[name] = string(data)
		}
		return fill(folder+"/"+volume.Name, files)
	case volume.Secret != nil:
		found, err := k.Control.Client.CoreV1().Secrets(pod.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		files := make(map[string]string)
		for name, data := range found.Data {
			files[name] = string(data)
		}
		for _, item := range volume.Secret.Items {
			if _, there := files[item.Key]; !there || item.Path != item.Key {
				return "", fmt.Errorf("Secret %s: key %s as %s is not simulated", volume.Secret.SecretName, item.Key, item.Path)
			}
		}
		return fill(folder+"/"+volume.Name, files)
	}
	return "", fmt.Errorf("of a kind that is not played")
}

// account is the volume that service account admission adds to a pod: its token, issued by the API server for
// this pod, and the API server's certificate authority.
func (k *Kubelet) account(ctx context.Context, pod *v1.Pod, folder string) (string, error) {
	seconds := int64(3607)
	token, err := k.Control.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds, BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return fill(folder+"/account", map[string]string{
		"token": token.Status.Token, "ca.crt": string(k.Control.Authority.PEM), "namespace": pod.Namespace})
}

func fill(folder string, files map[string]string) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return folder, nil
}
