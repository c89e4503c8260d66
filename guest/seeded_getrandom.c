// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Compiled into the guest kernel (seeded.sh) so that the same seed gives the same run.
//
// User-Mode Linux takes every bit of its entropy from the host's getrandom(), through libc: 32 bytes at boot and a
// few words at every later reseed. In virtual time these calls are the only input that differs from one run to the
// next, and they come in the same order each time. Answering them from a seeded stream therefore fixes all randomness
// of the guest: TCP sequence numbers, ports, SCTP tags, UUIDs, and what programs in it read from /dev/urandom.
//
// The stream is splitmix64, started at NETWARP_SEED. It need not be secret or strong, because the guest's own
// generator (ChaCha20 over a BLAKE2s pool) stretches it; it must only differ between seeds, small and sequential ones
// included.
//
// The kernel calls this from one thread only, so the stream needs no lock.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#define SEED_VARIABLE "NETWARP_SEED"

static void fail(const char *problem)
{
	// _exit, not abort: this line says what to do, and a core dump of the kernel would say nothing more.
	dprintf(STDERR_FILENO, "netwarp: getrandom of the guest kernel: %s; start the guest with %s=<decimal, 0 to 2^64-1>\n", problem,
		SEED_VARIABLE);
	_exit(EXIT_FAILURE);
}

static uint64_t seed_from_environment(void)
{
	const char *text = getenv(SEED_VARIABLE);

	if (text == NULL)
		fail(SEED_VARIABLE " is not set");
	// strtoull alone would take "", " 1", "+1" and "-1": each would run with a seed nobody wrote.
	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		fail(SEED_VARIABLE " is not a decimal number");
	errno = 0;
	uint64_t seed = strtoull(text, NULL, 10);
	if (errno == ERANGE)
		fail(SEED_VARIABLE " does not fit into 64 bits");
	return seed;
}

static uint64_t next_word(void)
{
	static uint64_t state;
	static int seeded;

	if (!seeded) {
		state = seed_from_environment();
		seeded = 1;
	}
	state += 0x9e3779b97f4a7c15;
	uint64_t word = state;
	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
	word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
	return word ^ (word >> 31);
}

// Takes the place of libc's wrapper of getrandom(2), in a static link too, where libc's is then not taken. The flags
// choose when to block, and this never does.
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *out = buffer;

	(void)flags;
	for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
		uint64_t word = next_word();
		size_t rest = length - done;

		memcpy(out + done, &word, rest < sizeof word ? rest : sizeof word);
	}
	return (ssize_t)length;
}
