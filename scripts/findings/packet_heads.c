/* Writes down the first 96 bytes of every packet of a network namespace, until it is sent SIGTERM.
 *
 * A record: time in ns (8 bytes), index of the interface (2), whether the packet goes out (4) or comes
 * in (1), a byte of zero (1), length of the frame (4), its first bytes (96); numbers are little-endian.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEAD_BYTES 96
#define BUFFER_BYTES (64 << 20)

static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

static uint64_t arrival_ns(struct msghdr *message)
{
	struct timespec at = {0};
	struct cmsghdr *each;

	for (each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each))
		if (each->cmsg_level == SOL_SOCKET)
			memcpy(&at, CMSG_DATA(each), sizeof(at));
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

int main(int count, char **arguments)
{
	struct sigaction action = {.sa_handler = end};
	int packets = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	int buffer_bytes = BUFFER_BYTES, on = 1;
	FILE *file = count == 2 ? fopen(arguments[1], "w") : NULL;

	if (packets < 0 || !file) {
		perror("packet_heads FILE");
		return 1;
	}
	setsockopt(packets, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
	setsockopt(packets, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	sigaction(SIGTERM, &action, NULL);
	while (!is_over) {
		char head[HEAD_BYTES] = {0}, control[128];
		struct sockaddr_ll from;
		struct iovec place = {head, sizeof(head)};
		struct msghdr message = {
			.msg_name = &from, .msg_namelen = sizeof(from),
			.msg_iov = &place, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};
		ssize_t length = recvmsg(packets, &message, MSG_TRUNC);
		uint64_t ns;
		uint16_t interface;
		uint8_t direction, zero = 0;
		uint32_t bytes = length;

		if (length < 0)
			continue;
		ns = arrival_ns(&message);
		interface = from.sll_ifindex;
		direction = from.sll_pkttype;
		fwrite(&ns, sizeof(ns), 1, file);
		fwrite(&interface, sizeof(interface), 1, file);
		fwrite(&direction, sizeof(direction), 1, file);
		fwrite(&zero, sizeof(zero), 1, file);
		fwrite(&bytes, sizeof(bytes), 1, file);
		fwrite(head, sizeof(head), 1, file);
	}
	return fclose(file) ? 1 : 0;
}
