package main

import (
	"context"
	"io"
)

func runAccess(ctx context.Context, o *options, directory string, out io.Writer) error { return nil }
