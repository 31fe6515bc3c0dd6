/* A controller for the kernel, as a BPF program: one packet more each round trip, a quarter less after a loss.
 *
 *     bpftool btf dump file /sys/kernel/btf/vmlinux format c > vmlinux.h
 *     clang -O2 -g -target bpf -I. -c aimd.bpf.c -o aimd.bpf.o
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

#define MIN_CWND 2U

static struct tcp_sock *tcp(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

SEC("struct_ops/aimd_ssthresh")
__u32 BPF_PROG(aimd_ssthresh, struct sock *sk)
{
	__u32 cwnd = tcp(sk)->snd_cwnd;
	__u32 reduced = cwnd - cwnd / 4;

	return reduced > MIN_CWND ? reduced : MIN_CWND;
}

SEC("struct_ops/aimd_cong_avoid")
void BPF_PROG(aimd_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);

	if (tp->snd_cwnd < tp->snd_ssthresh) {
		tp->snd_cwnd += acked;
		return;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd_cnt -= tp->snd_cwnd;
		tp->snd_cwnd += 1;
	}
}

SEC("struct_ops/aimd_undo_cwnd")
__u32 BPF_PROG(aimd_undo_cwnd, struct sock *sk)
{
	return tcp(sk)->prior_cwnd > tcp(sk)->snd_cwnd ? tcp(sk)->prior_cwnd : tcp(sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops aimd = {
	.ssthresh = (void *)aimd_ssthresh,
	.cong_avoid = (void *)aimd_cong_avoid,
	.undo_cwnd = (void *)aimd_undo_cwnd,
	.name = "aimd",
};
