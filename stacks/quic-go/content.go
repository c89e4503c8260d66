package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// content is a file, or bytes made from a seed.
type content struct {
	Kind      string `json:"kind"`
	Seed      uint64 `json:"seed"`
	Path      string `json:"path"`
	SizeBytes uint64 `json:"size_bytes"`
}

// open returns a reader of a part of the content.
func (c *content) open(offset, length uint64) (io.ReadCloser, error) {
	if c.Kind == "seeded" {
		return io.NopCloser(&seeded{seed: c.Seed, position: offset, end: offset + length}), nil
	}
	file, err := os.Open(c.Path)
	if err != nil {
		return nil, fmt.Errorf("open what is sent: %w", err)
	}
	if about, err := file.Stat(); err != nil || uint64(about.Size()) != c.SizeBytes {
		file.Close()
		return nil, fmt.Errorf("%s is not the %d bytes that were planned", c.Path, c.SizeBytes)
	}
	section := io.NewSectionReader(file, int64(offset), int64(length))
	return struct {
		io.Reader
		io.Closer
	}{section, file}, nil
}

const wordBytes = 8

// seeded reads bytes whose word i is splitmix64's i-th output, little endian.
type seeded struct {
	seed, position, end uint64
}

func (s *seeded) Read(buffer []byte) (int, error) {
	if s.position >= s.end {
		return 0, io.EOF
	}
	block := buffer[:min(uint64(len(buffer)), s.end-s.position)]
	for filled := 0; filled < len(block); {
		within := int(s.position % wordBytes)
		value := splitmix64(s.seed, s.position/wordBytes)
		var count int
		if rest := block[filled:]; within == 0 && len(rest) >= wordBytes {
			binary.LittleEndian.PutUint64(rest, value)
			count = wordBytes
		} else {
			var word [wordBytes]byte
			binary.LittleEndian.PutUint64(word[:], value)
			count = copy(rest, word[within:])
		}
		filled += count
		s.position += uint64(count)
	}
	return len(block), nil
}

// splitmix64 returns any output of Steele, Lea and Flood's generator (OOPSLA 2014) without those before.
func splitmix64(seed, index uint64) uint64 {
	word := seed + 0x9e3779b97f4a7c15*(index+1)
	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9
	word = (word ^ (word >> 27)) * 0x94d049bb133111eb
	return word ^ (word >> 31)
}
