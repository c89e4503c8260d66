package main

import "sync"

// A goodput record has at most so many steps; their width doubles whenever there would be more.
const (
	mostSteps   = 2000
	firstStepNS = 10_000_000
)

// goodputRecord says how much content arrived in each step since the run's epoch (docs/run-format.md).
type goodputRecord struct {
	Record string   `json:"record"`
	StepNS int64    `json:"step_ns"`
	Bytes  []uint64 `json:"bytes"`
	// Streams are read by goroutines of their own.
	counting sync.Mutex
}

// count counts bytes that have arrived.
func (g *goodputRecord) count(atNS int64, bytes uint64) {
	g.counting.Lock()
	defer g.counting.Unlock()
	for atNS/g.StepNS >= mostSteps {
		var pairs []uint64
		for step, came := range g.Bytes {
			if step%2 == 0 {
				pairs = append(pairs, 0)
			}
			pairs[step/2] += came
		}
		g.Bytes, g.StepNS = pairs, 2*g.StepNS
	}
	step := int(atNS / g.StepNS)
	for len(g.Bytes) <= step {
		g.Bytes = append(g.Bytes, 0)
	}
	g.Bytes[step] += bytes
}

// writeGoodput writes what arrived over time, in a run in which workloads share the path or something happens to it.
func (r *role) writeGoodput() {
	if len(r.goodput.Bytes) > 0 {
		r.write(&r.goodput)
	}
}
