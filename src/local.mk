# SPDX-License-Identifier: BSD-2-Clause
include_HEADERS    = include/gemkv.h
pkgconfig_DATA     = src/gemkv.pc

# Everything but the public shell, as a convenience library, so that tests can reach internal
# symbols that libgemkv.so hides.
noinst_LTLIBRARIES = src/libcore.la
src_libcore_la_SOURCES = \
	src/api.c \
	src/arch.c src/arch.h \
	src/arch-llama.c src/arch-qwen2.c src/arch-qwen3.c src/arch-phi3.c \
	src/arch-gemma2.c src/arch-gemma3.c src/arch-qwen3moe.c \
	src/attend.c src/attend.h \
	src/bounded.c src/bounded.h \
	src/calibrate.c src/calibrate.h \
	src/context.h \
	src/describe.c src/describe.h \
	src/device.c src/device.h gpu/plugin.h \
	src/eval.c \
	src/exec.c src/exec.h \
	src/gemm.c src/gemm.h src/gemm-row.h src/gemm-openblas.c src/gemm-onednn.c \
	src/gguf.c src/gguf-kv.c src/gguf.h \
	src/gram.c src/gram.h \
	src/kv.c src/kv.h \
	src/layer.c src/layer.h \
	src/mass.c src/mass.h \
	src/mem.c src/mem.h \
	src/model.c src/model.h \
	src/moe.c src/moe.h \
	src/quant.c src/quant.h src/quant-scale.c src/quant-scale.h \
	src/quant-f16.c src/quant-bf16.c \
	src/quant-q8_0.c src/quant-q4_0.c src/quant-q4_1.c src/quant-q5_0.c src/quant-q5_1.c \
	src/quant-q2_k.c src/quant-q3_k.c src/quant-q4_k.c src/quant-q5_k.c src/quant-q6_k.c \
	src/quant-iq4_nl.c src/quant-iq4_xs.c \
	src/param.c src/param.h \
	src/pass.h src/second.c \
	src/plan.c src/plan.h \
	src/pool.c src/pool.h \
	src/prompt.c src/prompt.h \
	src/sample.c src/sample.h \
	src/rope.c src/rope.h \
	src/schedule.c src/schedule.h \
	src/schedule-layer.c src/schedule-chunk.c src/schedule-stream.c \
	src/refine.c src/refine.h \
	src/select.c src/select.h \
	src/select-full.c src/select-gemfilter.c src/select-truncate.c src/select-onerun.c \
	src/select-snapkv.c src/select-h2o.c src/select-streamingllm.c \
	src/select-streamingllm-online.c src/select-pyramidinfer.c \
	src/select-fastkv.c src/select-asl.c src/select-finch.c \
	src/session.c \
	src/settings.c src/settings.h \
	src/spill.c src/spill.h \
	src/status.c src/status.h \
	src/sweep.c src/sweep.h \
	src/template.c src/template.h src/template-call.c src/template-call.h \
	src/template-parse.c src/template-parse.h src/template-run.c src/template-run.h \
	src/template-value.c src/template-value.h \
	src/thread.c src/thread.h \
	src/token.c src/token.h src/token-kind.h \
	src/token-bpe.c src/token-spm.c src/token-merge.c src/token-merge.h \
	src/token-pre.c src/token-pre.h \
	src/top.c src/top.h \
	src/unicode.c src/unicode.h src/unicode-data.h
# No FMA contraction, even where $CFLAGS has the instruction: the same bytes on any machine.
src_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGINDIR='"$(pkglibdir)"'
src_libcore_la_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS) -ffp-contract=off
src_libcore_la_LIBADD = simd/libsimd.la $(OPENBLAS_LIBS) $(ONEDNN_LIBS)

lib_LTLIBRARIES     = libgemkv.la
libgemkv_la_SOURCES =
libgemkv_la_LIBADD  = src/libcore.la
libgemkv_la_LDFLAGS = -no-undefined -version-info $(GKV_LTVERSION) \
	-Wl,--version-script=$(srcdir)/src/libgemkv.map
EXTRA_libgemkv_la_DEPENDENCIES = src/libgemkv.map
EXTRA_DIST += src/libgemkv.map

bin_PROGRAMS   = gemkv
gemkv_SOURCES  = \
	src/cli/args.c src/cli/args.h src/cli/bench.h src/cli/bench-methods.c \
	src/cli/cmd-ask.c src/cli/cmd-bench.c \
	src/cli/cmd-calibrate.c \
	src/cli/cmd-eval.c src/cli/cmd-info.c src/cli/cmd-select.c src/cli/cmd-tokenize.c \
	src/cli/calibrated.c src/cli/calibrated.h \
	src/cli/cmd.h src/cli/eval.h src/cli/eval-run.c src/cli/eval-show.c \
	src/cli/eval-kv.c src/cli/eval-niah.c src/cli/eval-perplexity.c src/cli/eval-qa.c \
	src/cli/eval-ruler.c src/cli/ruler-qa.c src/cli/ruler-qa.h \
	src/cli/input.c src/cli/input.h src/cli/json.c src/cli/json.h src/cli/main.c \
	src/cli/material.c src/cli/material.h src/cli/methods.c src/cli/methods.h src/cli/parse.c src/cli/parse.h \
	src/cli/plot.c src/cli/plot.h \
	src/cli/progress.c src/cli/progress.h src/cli/report.c src/cli/report.h \
	src/cli/run.c src/cli/run.h src/cli/say.c src/cli/say.h \
	src/cli/score.c src/cli/score.h src/cli/stem.c src/cli/stem.h \
	src/cli/text.c src/cli/text.h \
	src/cli/utf8.c src/cli/utf8.h src/cli/view.c src/cli/view.h
gemkv_CPPFLAGS = -I$(srcdir)/include -DPKGDATADIR='"$(pkgdatadir)"'
gemkv_CFLAGS   = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(ZLIB_CFLAGS)
gemkv_LDADD    = libgemkv.la $(ZSTD_LIBS) $(ZLIB_LIBS)
