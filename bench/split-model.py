#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long a first pass by several processes takes, schedule layer: products + attention + exchange.

    split-model.py fit <TIMES                lines "TOKENS SECONDS" of one process: prints the options -p and -a
    split-model.py -p S -a S -g S,RATE ... TOKENS,... RANKS,...

The second form goes through the schedule of src/first/split.c, block by block, and prints for each number of tokens and of
ranks: seconds, how much of them a rank waits, and which part of the ranks' time is used, N ranks being N times as fast at
best.  Where less than half is used, exchange takes over."""
import argparse
import sys

STRIPES, LEAST = 4, 256         # as in split.c


def fit(lines):
    """Least squares of seconds = p * tokens + a * tokens^2 / 2, each relative to the measured seconds."""
    rows = [(float(n) / float(s), float(n) ** 2 / 2 / float(s)) for n, s in (line.split() for line in lines)]
    xx, xy, yy = (sum(f(x, y) for x, y in rows) for f in (lambda x, y: x * x, lambda x, y: x * y, lambda x, y: y * y))
    x1, y1 = sum(x for x, _ in rows), sum(y for _, y in rows)
    det = xx * yy - xy * xy
    p, a = (x1 * yy - y1 * xy) / det, (y1 * xx - x1 * xy) / det
    return p, a, max(abs(p * x + a * y - 1) for x, y in rows)


def block_size(tokens, ranks, chunk):
    size = min(chunk, tokens)
    while size % 2 == 0 and size // 2 >= LEAST and -(-tokens // size) < STRIPES * ranks:
        size //= 2
    return size


def first_pass(o, tokens, ranks):
    """Seconds, and the most that a rank of them waits."""
    size = block_size(tokens, ranks, o.chunk)
    blocks = -(-tokens // size)
    stripes = -(-blocks // ranks)
    slow = max(1, ranks / o.cores) if o.cores else 1
    p, a = o.products / o.layers * slow, o.attention / o.layers * slow
    per_message, rate = o.gather
    exchange = (ranks - 1) * (per_message + size * o.bytes / rate)
    clock, waited = [0.0] * ranks, [0.0] * ranks

    def rows(stripe, rank):
        i = stripe * ranks + (ranks - 1 - rank if stripe % 2 else rank)
        return i * size, max(0, min(size, tokens - i * size))

    def offer(stripe):
        for r in range(ranks):
            clock[r] += p * o.share * rows(stripe, r)[1]
        return max(clock) + (exchange if ranks > 1 else 0)

    arrived = offer(0)
    for layer in range(o.layers):
        for i in range(stripes):
            for r in range(ranks):
                waited[r] += max(0, arrived - clock[r])
                clock[r] = max(clock[r], arrived)
            last = i + 1 == stripes
            if not last or (stripes > 1 and layer + 1 < o.layers):
                arrived = offer(0 if last else i + 1)
            for r in range(ranks):
                at, n = rows(i, r)
                clock[r] += p * (1 - o.share) * n + a * n * (at + n / 2)
            if last and stripes == 1 and layer + 1 < o.layers:
                arrived = offer(0)
    return max(clock), max(waited)


def pair(text):
    a, b = text.split(',')
    return float(a), float(b)


def numbers(text):
    return [int(t) for t in text.split(',')]


def main():
    if sys.argv[1:2] == ['fit']:
        p, a, worst = fit(line for line in sys.stdin if line.strip())
        print(f'-p {p:.4g} -a {a:.4g}   (worst row {100 * worst:.1f} % off)')
        return
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument('-p', dest='products', type=float, required=True, help='seconds of products for a token, all layers')
    o.add_argument('-a', dest='attention', type=float, required=True, help='seconds of attention for a token and a key, all layers')
    o.add_argument('-g', dest='gather', type=pair, required=True,
                   help='seconds and bytes/s of a message of the exchange (bench/gather)')
    o.add_argument('-l', dest='layers', type=int, required=True, help='layers before the filter layer')
    o.add_argument('-b', dest='bytes', type=float, default=2048,
                   help='of the keys and values of a token in a layer (2048: the 1B shape in 16 bits)')
    o.add_argument('-k', dest='share', type=float, default=0.034, help='share of keys and values in a layer\'s products')
    o.add_argument('-c', dest='chunk', type=int, default=512, help='rows of --chunk')
    o.add_argument('--cores', type=int, default=0, help='that all ranks have together; 0: enough')
    o.add_argument('tokens', type=numbers)
    o.add_argument('ranks', type=numbers)
    o = o.parse_args()
    print('tokens  ranks  seconds  waited  used')
    for tokens in o.tokens:
        alone = first_pass(o, tokens, 1)[0]
        for ranks in o.ranks:
            seconds, waited = first_pass(o, tokens, ranks)
            speed = min(ranks, o.cores or ranks)
            print(f'{tokens:<7} {ranks:<6} {seconds:<8.4g} {waited:<7.3g} {alone / speed / seconds:.2f}')


main()
