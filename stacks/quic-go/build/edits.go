package main

// edit inserts a text behind a place in a file of Go's own.
type edit struct {
	after, insert string
}

const (
	// drop has the clock read again, because time may have passed.
	drop = "\tMOVQ\t$0, runtime·heldNanotime(SB)\n"

	// answer gives the time that is held, if there is one.
	answer = `	MOVQ	runtime·heldNanotime(SB), AX
	TESTQ	AX, AX
	JZ	read
	MOVQ	AX, ret+0(FP)
	RET
read:
`

	// FUTEX_WAKE and its kin are odd, FUTEX_WAIT is even, in SI.
	dropAfterWait = "\tTESTL\t$1, SI\n\tJNZ\t2(PC)\n" + drop

	// Go's sockets do not block, and a poll without a time-out does not wait (its time-out is in R10).
	dropUnlessInstant = `	CMPQ	R12, $46	// sendmsg
	JEQ	held
	CMPQ	R12, $299	// recvmmsg
	JEQ	held
	CMPQ	R12, $281	// epoll_pwait
	JNE	waited
	TESTQ	R10, R10
	JZ	held
waited:
` + drop + "held:\n"
)

// hold keeps a time that was read, in a register.
func hold(register string) string {
	return "\tCMPB\truntime·clockIsHeld(SB), $0\n\tJEQ\t2(PC)\n\tMOVQ\t" + register + ", runtime·heldNanotime(SB)\n"
}

// editsByFile has what changes in Go's runtime: the clock is kept from one wait to the next, and where it is, nothing
// looks whether time has passed in between.
var editsByFile = map[string][]edit{
	"runtime/sys_linux_amd64.s": {
		{"TEXT runtime·nanotime1(SB),NOSPLIT,$16-8\n", answer},
		{"\tADDQ\tDX, AX\n\tMOVQ\tAX, ret+0(FP)\n", hold("AX")},
		{"\tMOVL\t$SYS_nanosleep, AX\n\tSYSCALL\n", drop},
		{"\tMOVL\t$SYS_futex, AX\n\tSYSCALL\n", dropAfterWait},
	},
	"runtime/time_linux_amd64.s": {
		{"\tADDQ\tDX, CX\n", hold("CX")},
	},
	"internal/runtime/syscall/linux/asm_linux_amd64.s": {
		{"\t// num already in AX.\n", "\tMOVQ\tAX, R12\n"},
		{"\tSYSCALL\n", dropUnlessInstant},
	},
	"runtime/proc.go": {
		// The monitor wakes up to look for goroutines that have run for too long.
		{"\tif haveSysmon", " && !holdClock()"},
		// A look at the network just before waiting for it.
		{"\t// on machines with many cores.\n\tif ", "!clockIsHeld && "},
	},
}
