# SPDX-License-Identifier: BSD-2-Clause
# Not built by default: make bench/kernels bench/token
EXTRA_PROGRAMS += bench/kernels bench/token
bench_kernels_SOURCES = bench/kernels.c bench/peak.c bench/peak.h
bench_kernels_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2)
bench_kernels_LDADD   = src/libcore.la
bench_token_SOURCES   = bench/token.c
bench_token_LDADD     = src/libcore.la
EXTRA_DIST += bench/README.md bench/e2e.sh bench/peers.sh
