# SPDX-License-Identifier: BSD-2-Clause
include_HEADERS    = include/gemkv.h
pkgconfig_DATA     = src/gemkv.pc

# The whole library as a convenience library, so that tests can use internal symbols, which
# libgemkv.so hides.
noinst_LTLIBRARIES = src/libcore.la
src_libcore_la_SOURCES = \
	gpu/plugin.h \
	src/base/cores.c src/base/cores.h src/base/file.c src/base/file.h src/base/mem.c src/base/mem.h src/base/near.c src/base/param.c src/base/param.h src/base/pool.c src/base/pool.h src/base/snap.c src/base/snap.h \
	src/base/spill.c src/base/spill.h src/base/size.h src/base/status.c src/base/status.h src/base/sum.c src/base/sum.h src/base/team.h src/base/thread.c \
	src/base/thread.h src/base/top.c src/base/top.h src/base/unicode-data.h src/base/unicode.c \
	src/base/unicode.h \
	src/quant/bf16.c src/quant/convert.h src/quant/f16.c src/quant/grid-data.h src/quant/grid.c src/quant/grid.h \
	src/quant/iq1_m.c src/quant/iq1_s.c src/quant/iq2_s.c src/quant/iq2_xs.c src/quant/iq2_xxs.c src/quant/iq3_s.c \
	src/quant/iq3_xxs.c src/quant/iq4_nl.c src/quant/iq4_xs.c src/quant/mxfp4.c src/quant/q2_k.c \
	src/quant/q3_k.c src/quant/q4_0.c src/quant/q4_1.c src/quant/q4_k.c src/quant/q5_0.c \
	src/quant/q5_1.c src/quant/q5_k.c src/quant/q6_k.c src/quant/q8_0.c src/quant/quant.c \
	src/quant/quant.h src/quant/scale.c src/quant/scale.h src/quant/tq1_0.c src/quant/tq2_0.c \
	src/quant/types.h \
	src/gguf/gguf.c src/gguf/gguf.h src/gguf/metadata.c \
	src/token/bpe.c src/token/kind.h src/token/merge.c src/token/merge.h src/token/pre.c \
	src/token/pre.h src/token/spm.c src/token/token.c src/token/token.h \
	src/template/call.c src/template/call.h src/template/expression.c src/template/expression.h \
	src/template/lex.c src/template/lex.h src/template/parse.c src/template/parse.h \
	src/template/run.c src/template/run.h src/template/template.c src/template/template.h \
	src/template/value.c src/template/value.h \
	src/model/arch-exaone4.c src/model/arch-gemma2.c src/model/arch-gemma3.c src/model/arch-gemma4.c \
	src/model/arch-glm4.c \
	src/model/arch-gpt-oss.c src/model/arch-granite.c src/model/arch-lfm2.c src/model/arch-llama.c src/model/arch-llama4.c \
	src/model/arch-mistral3.c src/model/arch-olmo2.c src/model/arch-phi3.c src/model/arch-smollm3.c \
	src/model/arch-qwen2.c src/model/arch-qwen3.c src/model/arch-qwen3moe.c src/model/arch-qwen35.c src/model/arch.c \
	src/model/arch.h src/model/describe.c src/model/describe.h src/model/layers.c \
	src/model/layers.h src/model/model.c src/model/model.h src/model/repacked.c src/model/repacked.h src/model/rope.c src/model/rope.h \
	src/engine/attend.c src/engine/attend.h src/engine/attention-sums.c src/engine/attention-sums.h \
	src/engine/exec.c src/engine/exec.h src/engine/forward.c src/engine/forward.h \
	src/engine/gemm-onednn.c src/engine/gemm-openblas.c src/engine/gemm-row.h src/engine/gemm.c \
	src/engine/gemm.h src/engine/gram.c src/engine/gram.h src/engine/kv.c src/engine/kv.h \
	src/engine/layer.c src/engine/layer.h src/engine/moe.c src/engine/moe.h src/engine/mtp.c src/engine/mtp.h \
	src/engine/pass.c src/engine/pass.h src/engine/repack.c src/engine/repack.h \
	src/engine/sparse.c src/engine/sparse.h src/engine/state.c src/engine/state.h \
	src/engine/hadamard.c src/engine/hadamard.h \
	src/first/bounded.c src/first/bounded.h src/first/group.c src/first/group.h src/first/index.c src/first/index.h src/first/keys.c src/first/keys.h src/first/reading.c src/first/reading.h src/first/refine.c src/first/refine.h \
	src/first/schedule-chunk.c src/first/schedule-index.c src/first/schedule-layer.c src/first/schedule-stream.c \
	src/first/schedule.c src/first/schedule.h src/first/split.c src/first/split.h src/first/task.h \
	src/select/asl.c src/select/bm25.c src/select/calibrate.c src/select/calibrate.h src/select/context.h \
	src/select/fastkv.c src/select/finch.c src/select/full.c src/select/gemfilter.c src/select/longllmlingua.c src/select/passages.c \
	src/select/passages.h src/select/random.c src/select/tfidf.c src/select/window.c \
	src/select/h2o.c src/select/onerun.c src/select/pyramidinfer.c src/select/select.c \
	src/select/select.h src/select/snapkv.c src/select/streamingllm-online.c \
	src/select/streamingllm.c src/select/sweep.c src/select/sweep.h src/select/truncate.c src/select/words.h \
	src/answer/decode.c src/answer/decode.h src/answer/device.c src/answer/device.h \
	src/answer/draft.c src/answer/draft.h \
	src/answer/drafter.c src/answer/drafter.h \
	src/answer/grammar.c src/answer/grammar.h src/answer/match.c src/answer/sample.c src/answer/sample.h \
	src/answer/think.c src/answer/think.h \
	src/api.c src/document-file.c src/document-index.c src/document.c src/document.h src/eval.c src/group.c src/hand-over.c src/hand-over.h src/plan.c src/plan.h src/probe.c \
	src/prompt.c src/prompt.h src/run.c src/run.h src/session-answer.c src/session.c src/session.h \
	src/library/catalogue.c src/library/catalogue.h src/library/folder.c src/library/folder.h \
	src/library/library.c src/library/none.c src/library/passage.c src/library/passage.h
if THREADS_POOL
src_libcore_la_SOURCES += src/base/team-pool.c
else
src_libcore_la_SOURCES += src/base/team-openmp.c
endif
# No FMA contraction, even if $CFLAGS allows the instruction: the same bytes on any machine.
src_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGINDIR='"$(pkglibdir)"'
src_libcore_la_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS) $(SQLITE_CFLAGS) -ffp-contract=off
src_libcore_la_LIBADD = simd/libsimd.la $(OPENBLAS_LIBS) $(ONEDNN_LIBS) $(SQLITE_LIBS)

lib_LTLIBRARIES     = libgemkv.la
libgemkv_la_SOURCES =
libgemkv_la_LIBADD  = src/libcore.la
libgemkv_la_LDFLAGS = -no-undefined -version-info $(GKV_LTVERSION) \
	-Wl,--version-script=$(srcdir)/src/libgemkv.map
EXTRA_libgemkv_la_DEPENDENCIES = src/libgemkv.map
EXTRA_DIST += src/libgemkv.map

# The program without main(), which tests/unit-io.c calls instead.
noinst_LTLIBRARIES += src/libcli.la
src_libcli_la_SOURCES = \
	src/cli/answerer.c \
	src/cli/answerer.h \
	src/cli/args.c \
	src/cli/args.h \
	src/cli/batch/answers.c \
	src/cli/batch/answers.h \
	src/cli/batch/merge.c \
	src/cli/batch/merge.h \
	src/cli/batch/rows.c \
	src/cli/batch/rows.h \
	src/cli/batch/shard.c \
	src/cli/batch/shard.h \
	src/cli/bench-methods.c \
	src/cli/bench.h \
	src/cli/calibrated.c \
	src/cli/calibrated.h \
	src/cli/cite.c \
	src/cli/cite.h \
	src/cli/cmd-ask.c \
	src/cli/cmd-batch.c \
	src/cli/cmd-bench.c \
	src/cli/cmd-calibrate.c \
	src/cli/cmd-chat.c \
	src/cli/cmd-eval.c \
	src/cli/cmd-index.c \
	src/cli/cmd-info.c \
	src/cli/cmd-models.c \
	src/cli/cmd-pair.c \
	src/cli/cmd-select.c \
	src/cli/cmd-serve.c \
	src/cli/cmd-tokenize.c \
	src/cli/cmd.h \
	src/cli/completion.c \
	src/cli/completion.h \
	src/cli/confine.c \
	src/cli/confine.h \
	src/cli/eval/chance.c \
	src/cli/eval/chance.h \
	src/cli/eval/eval.h \
	src/cli/eval/kv.c \
	src/cli/eval/niah.c \
	src/cli/eval/niah.h \
	src/cli/eval/perplexity.c \
	src/cli/eval/qa.c \
	src/cli/eval/rows.c \
	src/cli/eval/ruler-qa.c \
	src/cli/eval/ruler-qa.h \
	src/cli/eval/ruler.c \
	src/cli/eval/normal.c \
	src/cli/eval/normal.h \
	src/cli/eval/retrieve.c \
	src/cli/eval/retrieve.h \
	src/cli/eval/score-infinitebench.c \
	src/cli/eval/score-leval.c \
	src/cli/eval/score-longbench.c \
	src/cli/eval/score-parts.c \
	src/cli/eval/score-parts.h \
	src/cli/eval/score-squad.c \
	src/cli/eval/score-sets.h \
	src/cli/eval/score.c \
	src/cli/eval/score.h \
	src/cli/eval/show.c \
	src/cli/eval/stem.c \
	src/cli/eval/stem.h \
	src/cli/events.c \
	src/cli/events.h \
	src/cli/evidence.c \
	src/cli/evidence.h \
	src/cli/grammar.c \
	src/cli/grammar.h \
	src/cli/html.c \
	src/cli/html.h \
	src/cli/http.c \
	src/cli/http.h \
	src/cli/input.c \
	src/cli/input.h \
	src/cli/input/child.c \
	src/cli/input/child.h \
	src/cli/input/csv.c \
	src/cli/input/encoding.c \
	src/cli/input/encoding.h \
	src/cli/input/find.c \
	src/cli/input/find.h \
	src/cli/input/format.c \
	src/cli/input/format.h \
	src/cli/input/grid.c \
	src/cli/input/grid.h \
	src/cli/input/mail.c \
	src/cli/input/markup.c \
	src/cli/input/markup.h \
	src/cli/input/office.c \
	src/cli/input/pages.c \
	src/cli/input/pages.h \
	src/cli/input/readers.h \
	src/cli/input/rtf.c \
	src/cli/input/sheet.c \
	src/cli/input/zip.c \
	src/cli/input/zip.h \
	src/cli/json-parse.c \
	src/cli/json-parse.h \
	src/cli/json.c \
	src/cli/json.h \
	src/cli/library.c \
	src/cli/library.h \
	src/cli/line.c \
	src/cli/line.h \
	src/cli/material.c \
	src/cli/material.h \
	src/cli/memory.c \
	src/cli/memory.h \
	src/cli/methods.c \
	src/cli/methods.h \
	src/cli/mix.c \
	src/cli/mix.h \
	src/cli/model-name.c \
	src/cli/model-name.h \
	src/cli/options.c \
	src/cli/options.h \
	src/cli/output.c \
	src/cli/output.h \
	src/cli/place.c \
	src/cli/place.h \
	src/cli/places.c \
	src/cli/places.h \
	src/cli/plot.c \
	src/cli/plot.h \
	src/cli/processes.c \
	src/cli/processes.h \
	src/cli/progress.c \
	src/cli/progress.h \
	src/cli/report-document.c \
	src/cli/report-document.h \
	src/cli/report-page.h \
	src/cli/report-parts.h \
	src/cli/report-write.c \
	src/cli/report.c \
	src/cli/report.h \
	src/cli/run-json.c \
	src/cli/run-together.c \
	src/cli/run.c \
	src/cli/run.h \
	src/cli/sandbox-calls.c \
	src/cli/sandbox.c \
	src/cli/sandbox.h \
	src/cli/say.c \
	src/cli/say.h \
	src/cli/schema.c \
	src/cli/schema.h \
	src/cli/serve/api.h \
	src/cli/serve/ask.c \
	src/cli/serve/ask.h \
	src/cli/serve/base64.c \
	src/cli/serve/base64.h \
	src/cli/serve/chat.c \
	src/cli/serve/files.c \
	src/cli/serve/folder.c \
	src/cli/serve/folder.h \
	src/cli/serve/form.c \
	src/cli/serve/indexes.c \
	src/cli/serve/indexes.h \
	src/cli/serve/reply.c \
	src/cli/serve/request.c \
	src/cli/serve/request.h \
	src/cli/serve/responses.c \
	src/cli/serve/store.c \
	src/cli/serve/store.h \
	src/cli/serve/web.c \
	src/cli/serve/web.h \
	src/cli/serve/work.c \
	src/cli/serve/work.h \
	src/cli/text.c \
	src/cli/text.h \
	src/cli/utf8.c \
	src/cli/utf8.h \
	src/cli/view.c \
	src/cli/view.h
src_libcli_la_CPPFLAGS = -I$(srcdir)/include -DPKGDATADIR='"$(pkgdatadir)"' -DPLUGINDIR='"$(pkglibdir)"'
src_libcli_la_CFLAGS   = $(AM_CFLAGS) $(LIBARCHIVE_CFLAGS) $(LIBXML2_CFLAGS) $(UCHARDET_CFLAGS) $(LIBCURL_CFLAGS) $(LIBMICROHTTPD_CFLAGS) $(LIBEDIT_CFLAGS) $(READLINE_CFLAGS)

bin_PROGRAMS   = gemkv
gemkv_SOURCES  = src/cli/main.c
gemkv_CPPFLAGS = -I$(srcdir)/include
gemkv_LDADD    = src/libcli.la libgemkv.la $(LIBARCHIVE_LIBS) $(LIBXML2_LIBS) $(UCHARDET_LIBS) $(LIBCURL_LIBS) $(LIBMICROHTTPD_LIBS) $(LIBEDIT_LIBS) $(READLINE_LIBS)
