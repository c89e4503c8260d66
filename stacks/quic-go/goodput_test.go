package main

import (
	"reflect"
	"testing"
)

func TestEveryByteIsCountedInItsStep(t *testing.T) {
	counted := goodputRecord{StepNS: firstStepNS}
	for _, each := range []struct {
		atMS  int64
		bytes uint64
	}{{0, 1}, {9, 2}, {10, 4}, {35, 8}} {
		counted.count(each.atMS*1_000_000, each.bytes)
	}
	if !reflect.DeepEqual(counted.Bytes, []uint64{3, 4, 0, 8}) {
		t.Errorf("the steps have %v", counted.Bytes)
	}
}

func TestStepsDoubleBeforeThereAreTooMany(t *testing.T) {
	counted := goodputRecord{StepNS: firstStepNS}
	last := int64(10 * mostSteps * 5)
	for atMS := int64(0); atMS < last; atMS += 10 {
		counted.count(atMS*1_000_000, 1)
	}
	if counted.StepNS != 80_000_000 || len(counted.Bytes) != 1250 {
		t.Errorf("%d steps of %d ns", len(counted.Bytes), counted.StepNS)
	}
	for _, bytes := range counted.Bytes {
		if bytes != 8 {
			t.Fatalf("a step has %d bytes", bytes)
		}
	}
}
