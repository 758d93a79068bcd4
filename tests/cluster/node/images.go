package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The images of the node. No registry exists: all are imported.
const (
	berthImage     = "berth:0.1.0"
	nextBerthImage = "berth:next"
	schedulerImage = "example.test/kube-scheduler:v1.37.1"
	pauseImage     = "example.test/pause:1"
)

// archive is the path of an image before its import.
func archive(directory, image string) string {
	return filepath.Join(directory, "images", strings.NewReplacer("/", "_", ":", "_").Replace(image)+".tar")
}

// makeImages makes all images: Berth's as script/image does, twice with different layers; kube-scheduler's with its libraries;
// and that of all other containers.
func makeImages(ctx context.Context, o *options, directory string) error {
	if err := os.MkdirAll(filepath.Join(directory, "images"), 0o755); err != nil {
		return err
	}
	for date, image := range map[int]string{1700000000: berthImage, 1710000000: nextBerthImage} {
		if err := makeBerthImage(ctx, o, directory, image, date); err != nil {
			return err
		}
	}
	if err := writeImage(archive(directory, pauseImage), pauseImage, []string{o.container}, "/usr/local/bin/"+filepath.Base(o.container)); err != nil {
		return err
	}
	libraries, err := exec.CommandContext(ctx, "ldd", o.Real).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", o.Real, err)
	}
	files := []string{o.Real}
	for field := range strings.FieldsSeq(string(libraries)) {
		if filepath.IsAbs(field) {
			files = append(files, field)
		}
	}
	return writeImage(archive(directory, schedulerImage), schedulerImage, files, "/usr/local/bin/kube-scheduler")
}

func makeBerthImage(ctx context.Context, o *options, directory, image string, date int) error {
	output := filepath.Join(directory, "images/build")
	defer os.RemoveAll(output)
	command := exec.CommandContext(ctx, filepath.Join(o.tree, "script/image"), "--binary", o.Berth, "--output", output, "--tag", image)
	command.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", date))
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("script/image: %w: %s", err, out)
	}
	if o.verbose {
		fmt.Printf("$ script/image --tag %s\n%s", image, out)
	}
	found, err := filepath.Glob(filepath.Join(output, "*.tar"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("script/image wrote %v, not one archive (%v)", found, err)
	}
	return os.Rename(found[0], archive(directory, image))
}

// writeImage writes an image as a tar of an OCI image layout: a program under this path, and files under their own paths.
func writeImage(path, name string, files []string, program string) error {
	layer, err := layerOf(files, program)
	if err != nil {
		return err
	}
	config := encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{program}, "Env": []string{"PATH=/usr/local/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	const kind = "application/vnd.oci.image."
	manifest := encode(map[string]any{"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
		"config": descriptor(kind+"config.v1+json", config), "layers": []any{descriptor(kind+"layer.v1.tar", layer)}})
	named := descriptor(kind+"manifest.v1+json", manifest)
	named["annotations"] = map[string]string{"io.containerd.image.name": name}
	index := encode(map[string]any{"schemaVersion": 2, "manifests": []any{named}})

	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	into := tar.NewWriter(file)
	for _, one := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", index},
		{blob(manifest), manifest}, {blob(config), config}, {blob(layer), layer},
	} {
		if err := addFile(into, one.name, 0o644, one.data); err != nil {
			return err
		}
	}
	return into.Close()
}

func layerOf(files []string, program string) ([]byte, error) {
	var layer bytes.Buffer
	into := tar.NewWriter(&layer)
	for i, path := range slices.Compact(files) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			path = program
		}
		if err := addFile(into, strings.TrimPrefix(path, "/"), 0o755, data); err != nil {
			return nil, err
		}
	}
	return layer.Bytes(), into.Close()
}

func addFile(into *tar.Writer, name string, mode int64, data []byte) error {
	if err := into.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := into.Write(data)
	return err
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func blob(data []byte) string { return "blobs/" + strings.Replace(digest(data), ":", "/", 1) }

func descriptor(kind string, data []byte) map[string]any {
	return map[string]any{"mediaType": kind, "digest": digest(data), "size": len(data)}
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return text
}
