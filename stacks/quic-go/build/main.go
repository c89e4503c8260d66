// Command build builds the role, with a runtime that holds the clock in virtual time (docs/decisions/0028).
//
// The edits are made to copies of the installed Go's own files, which `go build -overlay` then reads in their place.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "embed"
)

// heldClock goes into the package runtime.
//
//go:embed held_clock.go.txt
var heldClock []byte

// exactVersion is the Go whose files were read to write the edits.
const exactVersion = "go1.26.8"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: build DIRECTORY, which the role is put into")
		os.Exit(2)
	}
	if err := build(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "build the role of quic-go:", err)
		os.Exit(1)
	}
}

func build(directory string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("ask go for its sources: %w", err)
	}
	scratch, err := os.MkdirTemp("", "quic-go-overlay-")
	if err != nil {
		return fmt.Errorf("make a directory for edited files: %w", err)
	}
	defer os.RemoveAll(scratch)
	overlay, err := writeOverlay(filepath.Join(strings.TrimSpace(string(root)), "src"), scratch)
	if err != nil {
		return err
	}
	// Without cgo: libc would read the clock past the runtime.
	command := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", filepath.Join(directory, "role"), ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

// writeOverlay edits copies of Go's files, and gives the file that says which are read in whose place.
func writeOverlay(sources, scratch string) (string, error) {
	replaced := map[string]string{}
	for file, edits := range editsByFile {
		original := filepath.Join(sources, file)
		text, err := os.ReadFile(original)
		if err != nil {
			return "", fmt.Errorf("read a file of Go's own sources: %w", err)
		}
		edited, err := apply(edits, string(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", original, err)
		}
		if replaced[original], err = write(scratch, file, []byte(edited)); err != nil {
			return "", err
		}
	}
	var err error
	if replaced[filepath.Join(sources, "runtime/held_clock.go")], err = write(scratch, "held_clock.go", heldClock); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	return write(scratch, "overlay.json", overlay)
}

func write(scratch, name string, content []byte) (string, error) {
	path := filepath.Join(scratch, strings.ReplaceAll(name, "/", "_"))
	return path, os.WriteFile(path, content, 0o600)
}

// apply makes edits whose places are all there exactly once: a Go that has changed there is refused.
func apply(edits []edit, text string) (string, error) {
	for _, each := range edits {
		if found := strings.Count(text, each.after); found != 1 {
			return "", fmt.Errorf("%q is there %d times, not once: build with %s (GOTOOLCHAIN=%s)", each.after, found, exactVersion, exactVersion)
		}
		text = strings.Replace(text, each.after, each.after+each.insert, 1)
	}
	return text, nil
}
