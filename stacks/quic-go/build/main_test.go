package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEditIsMadeBehindItsPlace(t *testing.T) {
	edited, err := apply([]edit{{"clock\n", "held\n"}}, "a\nclock\nb\n")
	if err != nil || edited != "a\nclock\nheld\nb\n" {
		t.Fatalf("got %q, %v", edited, err)
	}
}

func TestAGoThatHasChangedIsRefusedWithAVersionThatHasNot(t *testing.T) {
	for _, text := range []string{"nothing of it", "clock clock"} {
		if _, err := apply([]edit{{"clock", "held"}}, text); err == nil || !strings.Contains(err.Error(), exactVersion) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestMissingSourcesAreNamed(t *testing.T) {
	sources := filepath.Join(t.TempDir(), "src")
	if _, err := writeOverlay(sources, t.TempDir()); err == nil || !strings.Contains(err.Error(), sources) {
		t.Errorf("got %v", err)
	}
}
