/* SPDX-License-Identifier: BSD-2-Clause
 * links MEGABITS MICROSECONDS NAMESPACE...
 *
 * Connects network namespaces as a switch does whose links have a rate and a delay, for kernels that cannot delay.  Each
 * namespace gets a device `eth0` with the address 10.77.0.I, I from 1 on.  A packet leaves its host when all before it have
 * left, comes in when all before it have come in, and takes the delay in between; none is lost.  Prints a line when all
 * devices are there, and goes on until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HOSTS = 64, LARGEST = 65535, QUEUE = 100000,
    PACKET = 200,               /* microseconds that the largest packet takes, so that packets are few            */
    NEAR = 5000,                /* nanoseconds: a shorter time is not slept                                       */
    AHEAD = 400000,             /* nanoseconds of packets that a host may have on the way to its link             */
};

struct packet {
    struct packet *next;
    long long      due;         /* nanoseconds */
    size_t         size;
    unsigned char  data[];
};

struct host {
    int            device;
    long long      up, down;    /* when the link is free */
    struct packet *first, *last;
};

static struct host host[HOSTS];
static int         n_hosts, mtu;
static double      rate;        /* bytes in a nanosecond */
static long long   delay;

static void fail(const char *what)
{
    fprintf(stderr, "links: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A device in the namespace that this process is in. */
static int open_device(int number)
{
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), s = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq r = { .ifr_name = "eth0", .ifr_flags = IFF_TUN | IFF_NO_PI };
    struct sockaddr_in address = { .sin_family = AF_INET };
    char text[32];

    if (device < 0 || s < 0 || ioctl(device, TUNSETIFF, &r))
        fail("/dev/net/tun");
    snprintf(text, sizeof text, "10.77.0.%d", number);
    inet_pton(AF_INET, text, &address.sin_addr);
    memcpy(&r.ifr_addr, &address, sizeof address);
    if (ioctl(s, SIOCSIFADDR, &r))
        fail(text);
    inet_pton(AF_INET, "255.255.255.0", &address.sin_addr);
    memcpy(&r.ifr_netmask, &address, sizeof address);
    if (ioctl(s, SIOCSIFNETMASK, &r))
        fail("netmask");
    r.ifr_mtu = mtu;
    if (ioctl(s, SIOCSIFMTU, &r))
        fail("mtu");
    r.ifr_qlen = QUEUE;
    if (ioctl(s, SIOCSIFTXQLEN, &r))
        fail("queue");
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(s, SIOCSIFFLAGS, &r))
        fail("up");
    close(s);
    return device;
}

static void enter(const char *namespace)
{
    char path[256];
    int fd;

    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        fail(path);
    close(fd);
}

/* Takes a packet of a host, if there is one, and computes when it is where it goes.  A host has to wait while its link is
 * busy: its kernel would otherwise send more and more, and confirmations of the other direction would queue behind that. */
static int take(struct host *from)
{
    static unsigned char data[LARGEST];
    const long long at = now();
    const ssize_t size = from->up > at + AHEAD ? 0 : read(from->device, data, sizeof data);
    const long long takes = (long long)((double)size / rate);
    struct host *to;
    struct packet *p;

    if (size < 20)
        return size > 0;
    if (data[0] >> 4 != 4 || data[19] < 1 || data[19] > n_hosts)
        return 1;
    to = &host[data[19] - 1];
    p = malloc(sizeof *p + (size_t)size);
    if (!p)
        fail("memory");
    p->next = NULL;
    p->size = (size_t)size;
    memcpy(p->data, data, (size_t)size);
    from->up = (from->up > at ? from->up : at) + takes;
    to->down = to->down + takes > from->up ? to->down + takes : from->up;
    p->due = to->down + delay;
    if (to->last)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
    return 1;
}

/* Hands over what is due.  When the next one is, or -1. */
static long long give(struct host *to, long long at)
{
    struct packet *p = to->first;

    if (p && p->due <= at && (write(to->device, p->data, p->size) >= 0 || errno != EAGAIN)) {
        to->first = p->next;
        if (!to->first)
            to->last = NULL;
        free(p);
    }
    return to->first ? to->first->due : -1;
}

int main(int argc, char **argv)
{
    struct pollfd wait[HOSTS];
    double bits;

    if (argc < 5 || argc - 3 > HOSTS) {
        fprintf(stderr, "usage: links MEGABITS MICROSECONDS NAMESPACE...\n");
        return 2;
    }
    bits = atof(argv[1]);
    delay = (long long)(atof(argv[2]) * 1000);
    rate = bits / 8000;
    mtu = (int)(bits / 8 * PACKET);
    mtu = mtu < 1500 ? 1500 : mtu > 65000 ? 65000 : mtu;
    n_hosts = argc - 3;
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < n_hosts; i++) {
        enter(argv[i + 3]);
        host[i].device = open_device(i + 1);
        wait[i] = (struct pollfd){ .fd = host[i].device, .events = POLLIN };
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        long long next = -1, left;
        int took = 0;

        for (int i = 0; i < n_hosts; i++)
            took |= take(&host[i]);
        for (int i = 0; i < n_hosts; i++) {
            const long long due = give(&host[i], now());

            if (due >= 0 && (next < 0 || due < next))
                next = due;
        }
        for (int i = 0; i < n_hosts; i++) {
            const bool full = host[i].up > now() + AHEAD;

            wait[i].events = full ? 0 : POLLIN;
            if (full && (next < 0 || host[i].up - AHEAD < next))
                next = host[i].up - AHEAD;
        }
        left = next - now();
        if (!took && (next < 0 || left > NEAR)) {
            const struct timespec t = { 0, left - NEAR };

            ppoll(wait, (nfds_t)n_hosts, next < 0 ? NULL : &t, NULL);
        }
    }
}
