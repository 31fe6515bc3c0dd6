"""What the guest kernel contains: everything that hosts, routers, queues and TCP need, and nothing else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SYSTEM = """
EXPERT 64BIT UML_TIME_TRAVEL_SUPPORT PRINTK BUG MULTIUSER BINFMT_ELF BINFMT_SCRIPT PROC_FS SYSCTL SYSFS TMPFS SHMEM
DEVTMPFS HOSTFS TTY STDERR_CONSOLE FUTEX EPOLL SIGNALFD TIMERFD EVENTFD POSIX_TIMERS FILE_LOCKING ADVISE_SYSCALLS
HIGH_RES_TIMERS NO_HZ_IDLE NAMESPACES NET_NS BPF_SYSCALL CC_OPTIMIZE_FOR_PERFORMANCE
"""
_NETWORK = """
NET PACKET UNIX INET INET_DIAG INET_TCP_DIAG INET_UDP_DIAG SYN_COOKIES BQL NETDEVICES NET_CORE VETH DUMMY IFB TUN
"""
_QUEUES = """
NET_SCHED NET_CLS NET_CLS_ACT NET_CLS_U32 NET_CLS_MATCHALL NET_CLS_FLOWER NET_CLS_FLOW NET_CLS_BASIC NET_ACT_MIRRED
NET_ACT_GACT NET_ACT_POLICE NET_ACT_SKBEDIT NET_ACT_PEDIT NET_SCH_HTB NET_SCH_HFSC NET_SCH_PRIO NET_SCH_RED NET_SCH_SFB
NET_SCH_SFQ NET_SCH_TBF NET_SCH_GRED NET_SCH_NETEM NET_SCH_DRR NET_SCH_CHOKE NET_SCH_QFQ NET_SCH_CODEL NET_SCH_FQ_CODEL
NET_SCH_CAKE NET_SCH_FQ NET_SCH_HHF NET_SCH_PIE NET_SCH_FQ_PIE NET_SCH_DUALPI2 NET_SCH_INGRESS NET_SCH_ETS
"""
_CONTROLLERS = """
TCP_CONG_ADVANCED TCP_CONG_BIC TCP_CONG_CUBIC TCP_CONG_WESTWOOD TCP_CONG_HTCP TCP_CONG_HSTCP TCP_CONG_HYBLA
TCP_CONG_VEGAS TCP_CONG_NV TCP_CONG_SCALABLE TCP_CONG_LP TCP_CONG_VENO TCP_CONG_YEAH TCP_CONG_ILLINOIS TCP_CONG_DCTCP
TCP_CONG_CDG TCP_CONG_BBR
"""

OPTIONS = tuple((_SYSTEM + _NETWORK + _QUEUES + _CONTROLLERS).split())
"""Kconfig symbols that are built in. All others that can be chosen are left out: IPv6, disks, hardware, containers."""

BUILD_ENVIRONMENT = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "bakeoff",
    "KBUILD_BUILD_HOST": "bakeoff",
}
"""The version banner feeds the guest's random numbers, so it says nothing of the machine or the day."""


def fragment() -> str:
    """The options as lines of a `.config` file."""
    return "".join(f"CONFIG_{option}=y\n" for option in OPTIONS)


def missing(config: str) -> list[str]:
    """The options that a finished `.config` lacks, because this source does not have them."""
    built_in = set(config.splitlines())
    return [option for option in OPTIONS if f"CONFIG_{option}=y" not in built_in]


def digest(patches: Mapping[str, str]) -> str:
    """A short name for options, environment and changes together: the same ones give the same kernel."""
    parts = [fragment(), *(f"{name}={value}" for name, value in sorted(BUILD_ENVIRONMENT.items()))]
    parts += [f"{name}:{change}" for name, change in sorted(patches.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
