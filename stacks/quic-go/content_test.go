package main

import (
	"bytes"
	"io"
	"testing"
)

// These are the first outputs of the reference implementation for seed 1234567 (prng.di.unimi.it/splitmix64.c).
func TestSeededWordsAreSplitmix64(t *testing.T) {
	for index, expected := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if word := splitmix64(1234567, uint64(index)); word != expected {
			t.Errorf("word %d is %d, not %d", index, word, expected)
		}
	}
}

func TestPartsAreThoseOfTheWhole(t *testing.T) {
	made := content{Kind: "seeded", Seed: 7, SizeBytes: 1001}
	read := func(offset, length uint64) []byte {
		source, err := made.open(offset, length)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(source)
		if err != nil || uint64(len(all)) != length {
			t.Fatalf("%d bytes of %d: %v", len(all), length, err)
		}
		return all
	}
	asked := bulk{Content: made, Chunks: 3}
	var joined []byte
	for chunk := range asked.Chunks {
		joined = append(joined, read(asked.part(chunk))...)
	}
	if !bytes.Equal(joined, read(0, 1001)) {
		t.Error("the parts are not the whole")
	}
}
