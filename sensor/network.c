/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bytes that the sockets of a job receive and send: two BPF programs at the job's group
 * of the cgroup2 hierarchy, which see each IP packet of a socket created inside of the
 * group, with its IP header, before segmentation or after reassembly.  Packets of the
 * loopback interface are not counted.
 *
 * The programs are attached by links (Linux 5.7), which the kernel removes when their
 * last descriptor is closed: a daemon that dies leaves nothing behind, and a restarted
 * one begins at 0.  A removed group takes its links along.
 *
 * Not counted: packet sockets, sockets created outside of the job and passed in, and
 * traffic that bypasses the kernel's IP (RDMA: sensor/fabric.c).  Before Linux 5.15
 * nothing is counted on a node that uses cgroup v1's net_cls or net_prio.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sensor/rows.h"

#ifdef HAVE_LIBBPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <unistd.h>
#include "common/cleanup.h"

#define LOOPBACK 1 /* its ifindex in every network namespace */

typedef struct {
    uint64_t rx, tx;
} bytes_t;

typedef struct {
    int map, rx_link, tx_link;
    int cpus;
    bytes_t *of_cpu; /* space for a read of the map */
} network_t;

/* clang-format off */
#define INSN(op, dst, src, o, i) \
    ((struct bpf_insn){.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i)})
#define LOAD_FIELD(dst, field) \
    INSN(BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_1, offsetof(struct __sk_buff, field), 0)
/* clang-format on */

/*
 * Add the packet's length to the 64-bit word at offset in this CPU's entry of map.  The
 * addition is atomic: an interrupt may send for the same job on the same CPU.
 */
static int load(int map, enum bpf_attach_type type, int offset)
{
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
    const struct bpf_insn program[] = {
        LOAD_FIELD(BPF_REG_2, ifindex),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 9, LOOPBACK),
        LOAD_FIELD(BPF_REG_6, len),
        INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSN(0, 0, 0, 0, 0),
        INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 1, 0),
        INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_6, (short)offset,
             BPF_ADD),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1), /* let it pass */
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };

    return bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "hpcb_network", "GPL", program,
                         sizeof(program) / sizeof(program[0]), &opts);
}

static int make_map(void)
{
    return bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "hpcb_network", sizeof(uint32_t),
                          sizeof(bytes_t), 1, NULL);
}

/* The descriptor of a link that counts at the group, or -1 with errno. */
static int attach(int map, int group, enum bpf_attach_type type, int offset)
{
    hpcb_autoclose int program = load(map, type, offset);

    if (program < 0)
        return -1;
    return bpf_link_create(program, group, type, NULL);
}

static int refused(hpcb_error_t *err, const char *what)
{
    return hpcb_error(err,
                      "the kernel refuses to %s (Linux 5.7 or later is needed): %s",
                      what, strerror(errno));
}

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcb_autoclose int map = -1, program = -1;

    if (!hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return hpcb_error(err, "no cgroup2 hierarchy is mounted");
    if (!hpcb_node_live(node))
        return hpcb_error(err, "not the running system");
    map = make_map();
    if (map < 0)
        return refused(err, "make a BPF map");
    program = load(map, BPF_CGROUP_INET_INGRESS, 0);
    return program < 0 ? refused(err, "load a BPF program for cgroups") : 0;
}

static void close_network(void *handle)
{
    network_t *network = handle;

    hpcb_cleanup_close(&network->rx_link);
    hpcb_cleanup_close(&network->tx_link);
    hpcb_cleanup_close(&network->map);
    free(network->of_cpu);
    free(network);
}

static int start(network_t *network, const char *dir, hpcb_error_t *err)
{
    hpcb_autoclose int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (group < 0)
        return hpcb_error(err, "%s: %s", dir, strerror(errno));
    network->map = make_map();
    if (network->map < 0)
        return refused(err, "make a BPF map");
    network->rx_link =
        attach(network->map, group, BPF_CGROUP_INET_INGRESS, offsetof(bytes_t, rx));
    if (network->rx_link < 0)
        return refused(err, "count what a group receives");
    network->tx_link =
        attach(network->map, group, BPF_CGROUP_INET_EGRESS, offsetof(bytes_t, tx));
    return network->tx_link < 0 ? refused(err, "count what a group sends") : 0;
}

static int open_network(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    network_t *network = malloc(sizeof(*network));

    if (!network)
        return hpcb_error(err, "no memory");
    *network = (network_t){.map = -1, .rx_link = -1, .tx_link = -1};
    network->cpus = libbpf_num_possible_cpus();
    if (network->cpus > 0)
        network->of_cpu = calloc((size_t)network->cpus, sizeof(bytes_t));
    if (!network->of_cpu)
        hpcb_error(err, "cannot tell the number of CPUs, or no memory");
    if (!network->of_cpu || start(network, job->dir, err) < 0) {
        close_network(network);
        return -1;
    }
    *handle = network;
    return 0;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const network_t *network = handle;
    const uint32_t key = 0;

    if (bpf_map_lookup_elem(network->map, &key, network->of_cpu) < 0)
        return hpcb_error(err, "cannot read a BPF map: %s", strerror(errno));
    for (int i = 0; i < network->cpus; i++) {
        values[HPCB_FIGURE_NETWORK_RX] += network->of_cpu[i].rx;
        values[HPCB_FIGURE_NETWORK_TX] += network->of_cpu[i].tx;
    }
    return 0;
}

#else /* !HAVE_LIBBPF */

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    errno = ENOSYS;
    return hpcb_error(err, "built without libbpf");
}

/* Never called: the probe fails. */
#define open_network  NULL
#define sample        NULL
#define close_network NULL

#endif

const hpcb_sensor_t hpcb_sensor_network = {
    .name = "network",
    .what = "bytes in IP packets of a job's sockets (BPF), without loopback",
    .figures = 1U << HPCB_FIGURE_NETWORK_RX | 1U << HPCB_FIGURE_NETWORK_TX,
    .probe = probe,
    .open = open_network,
    .sample = sample,
    .close = close_network,
};
