# SPDX-License-Identifier: BSD-2-Clause
# Not built by default: make bench/kernels bench/attend bench/decode bench/draft bench/verify bench/token bench/device bench/links bench/gather bench/sparse bench/cores
EXTRA_PROGRAMS += bench/kernels bench/attend bench/decode bench/draft bench/verify bench/token bench/device bench/links bench/gather bench/sparse bench/cores
bench_kernels_SOURCES = bench/kernels.c bench/peak.c bench/peak.h
bench_kernels_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2)
bench_kernels_LDADD   = src/libcore.la
bench_attend_SOURCES  = bench/attend.c bench/peak.c bench/peak.h
bench_attend_CFLAGS   = $(AM_CFLAGS) $(CFLAGS_AVX2)
bench_attend_LDADD    = src/libcore.la
bench_decode_SOURCES  = bench/decode.c bench/peak.c bench/peak.h
bench_decode_CFLAGS   = $(AM_CFLAGS) $(CFLAGS_AVX2)
bench_decode_LDADD    = src/libcore.la

bench_draft_SOURCES   = bench/draft.c
bench_draft_LDADD     = src/libcore.la
bench_verify_SOURCES  = bench/verify.c
bench_verify_LDADD    = src/libcore.la
bench_sparse_SOURCES  = bench/sparse.c
bench_sparse_LDADD    = src/libcore.la
bench_cores_SOURCES   = bench/cores.c
bench_cores_LDADD     = src/libcore.la
bench_token_SOURCES   = bench/token.c
bench_token_LDADD     = src/libcore.la
bench_links_SOURCES   = bench/links.c
bench_gather_SOURCES  = bench/gather.c
EXTRA_DIST += bench/README.md bench/HISTORY.md bench/e2e.sh bench/index.sh bench/load.sh bench/memory.py bench/methods.py bench/min-score.py bench/needle.py bench/needles.json bench/openvino-bench.py \
	bench/batch.sh bench/library.sh bench/namespaces.sh bench/peers.sh bench/processes.sh bench/record.py bench/rescore.py bench/rows.py bench/serve.py bench/slot.py bench/split-model.py \
	bench/results/cascade-lake.csv bench/results/emerald-rapids.csv bench/results/h200.csv \
	bench/results/sapphire-rapids.csv bench/results/zen3.csv bench/results/zen4.csv \
	bench/from-longbench.py bench/from-infinitebench.py bench/from-squad.py bench/from-leval.py \
	bench/from-ruler.py bench/from-lost.py bench/to-official.py bench/kept.py bench/needles-free.json bench/papers.py bench/arithmetic.py bench/table.py bench/two-hops.py
bench_device_SOURCES  = bench/device.c
bench_device_LDADD    = src/libcore.la
EXTRA_DIST += bench/cuda.sh bench/cuda-peak.cu

bench/cuda-peak: $(srcdir)/bench/cuda-peak.cu
	$(NVCC) -std=c++17 $(NVCCFLAGS) $(CUDA_TARGETS) -o $@ $(srcdir)/bench/cuda-peak.cu -lcublas
CLEANFILES += bench/cuda-peak
