/* The least that a TUN emulator can do, for comparison: one read and one write per packet, nothing between them.
 *
 * Makes two network namespaces with a TUN device each, lets one TCP connection send as fast as it can, and prints the
 * payload in bytes, and the CPU seconds of the process that carries the packets. Needs root and the `ip` command.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT 5000
#define QUEUED_PACKETS 500 /* that of mahimahi's devices */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void command(const char *line)
{
	if (system(line) != 0)
		fail(line);
}

/* A TUN device in a namespace of its own, in which the caller then is. */
static int make_host(int number)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	char line[256];
	int tun;

	if (unshare(CLONE_NEWNET) != 0)
		fail("unshare");
	tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	strcpy(request.ifr_name, "path");
	if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0)
		fail("/dev/net/tun");
	snprintf(line, sizeof(line),
		 "ip link set lo up; ip addr add 10.0.%d.1/32 dev path; ip link set path mtu 1500 txqueuelen %d up; "
		 "ip route add 10.0.0.0/16 dev path; echo '4096 16777216 67108864' > /proc/sys/net/ipv4/tcp_rmem; "
		 "echo '4096 16777216 67108864' > /proc/sys/net/ipv4/tcp_wmem",
		 number, QUEUED_PACKETS);
	command(line);
	return tun;
}

static struct sockaddr_in address(int host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	to.sin_addr.s_addr = htonl(0x0a000001u | (unsigned)host << 8);
	return to;
}

/* Takes what comes, and counts it for the process that carries the packets. */
static void receive(volatile unsigned long long *received)
{
	struct sockaddr_in here = address(2);
	int listener = socket(AF_INET, SOCK_STREAM, 0), connection;
	ssize_t length;

	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) != 0 || listen(listener, 1) != 0)
		fail("listen");
	connection = accept(listener, NULL, NULL);
	while ((length = recv(connection, NULL, 1 << 20, MSG_TRUNC)) > 0)
		*received += (unsigned long long)length;
	exit(0);
}

static void send_all(void)
{
	static char zeros[1 << 17];
	struct sockaddr_in there = address(2);
	int connection = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	while (connect(connection, (struct sockaddr *)&there, sizeof(there)) != 0)
		usleep(10000);
	while (send(connection, zeros, sizeof(zeros), MSG_NOSIGNAL) > 0)
		;
	exit(0);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void carry(const int tun[2], double seconds)
{
	static char packet[65536];
	struct pollfd files[2] = { { tun[0], POLLIN, 0 }, { tun[1], POLLIN, 0 } };
	double end = now() + seconds;

	while (now() < end) {
		if (poll(files, 2, 100) <= 0)
			continue;
		for (int side = 0; side < 2; side++) {
			ssize_t length;

			if (!(files[side].revents & POLLIN))
				continue;
			length = read(tun[side], packet, sizeof(packet));
			if (length > 0 && write(tun[1 - side], packet, (size_t)length) < 0)
				fail("write");
		}
	}
}

int main(int count, char **words)
{
	double seconds = count > 1 ? atof(words[1]) : 4;
	unsigned long long *received =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rusage usage;
	int tun[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int side = 0; side < 2; side++) {
		tun[side] = make_host(side + 1);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (side == 0)
				send_all();
			receive(received);
		}
	}
	carry(tun, seconds);
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu %.3f\n", *received,
	       usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return 0;
}
