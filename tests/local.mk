# SPDX-License-Identifier: BSD-2-Clause
TEST_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER   = $(TEST_LOG_DRIVER)
# Waiting threads must not spin: the machine may be busy.
AM_TESTS_ENVIRONMENT = OMP_WAIT_POLICY=passive srcdir='$(srcdir)' builddir='$(builddir)' MANDOC='$(MANDOC)' \
	CC='$(CC)' CFLAGS='$(CFLAGS)' OBJDUMP='$(OBJDUMP)' NM='$(NM)' ; \
	export OMP_WAIT_POLICY srcdir builddir MANDOC CC CFLAGS OBJDUMP NM ;

# Of the command line's code, what any test takes may need these.
CLI_LDADD = src/libcli.la src/libcore.la $(LIBARCHIVE_LIBS) $(LIBXML2_LIBS) $(UCHARDET_LIBS) $(LIBCURL_LIBS) \
	$(LIBMICROHTTPD_LIBS) $(LIBEDIT_LIBS) $(READLINE_LIBS)

# The oracle's golden vectors, through the whole library.
TESTS += tests/golden.test
check_PROGRAMS += tests/golden.test
tests_golden_test_SOURCES = tests/golden.c tests/file.h tests/kernels.h tests/tap.h tests/worse.h
tests_golden_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/input-facts.py build-aux/golden.py build-aux/golden-arch.py build-aux/golden-rounding.py \
	build-aux/golden-spread.py build-aux/golden-finch.py \
	tests/files/golden/cases.txt tests/files/golden/cases.bin \
	tests/files/golden/arch.txt tests/files/golden/arch.bin \
	tests/files/golden/llama3.gguf tests/files/golden/mistral.gguf \
	tests/files/golden/qwen2.gguf tests/files/golden/qwen3yarn.gguf \
	tests/files/golden/phi3.gguf tests/files/golden/gemma2.gguf tests/files/golden/gemma3.gguf \
	tests/files/golden/qwen3moe.gguf tests/files/golden/qwen2-8.gguf \
	tests/files/golden/qwen3yarn-8.gguf tests/files/golden/phi3-8.gguf \
	tests/files/golden/heads.txt tests/files/golden/heads.bin tests/files/golden/rounding.txt \
	tests/files/golden/finch.txt tests/files/golden/finch.bin \
	tests/files/golden/head64.gguf tests/files/golden/head128.gguf

TESTS += tests/hybrid.test
check_PROGRAMS += tests/hybrid.test
tests_hybrid_test_SOURCES = tests/hybrid.c tests/apart.h tests/file.h tests/tap.h tests/worse.h
tests_hybrid_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/golden-hybrid.py tests/files/golden/hybrid.txt tests/files/golden/hybrid.bin \
	tests/files/golden/qwen35.gguf tests/files/golden/qwen35odd.gguf \
	tests/files/golden/qwen35moe.gguf tests/files/golden/qwen3next.gguf

TESTS += tests/unit-mtp.test
check_PROGRAMS += tests/unit-mtp.test
tests_unit_mtp_test_SOURCES = tests/unit-mtp.c tests/apart.h tests/file.h tests/tap.h tests/worse.h
tests_unit_mtp_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/golden-mtp.py tests/files/golden/mtp.txt tests/files/golden/mtp.bin

# Logits of the transformers library.
TESTS += tests/unit-logits.test
check_PROGRAMS += tests/unit-logits.test
tests_unit_logits_test_SOURCES = tests/unit-logits.c tests/file.h tests/tap.h
tests_unit_logits_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/golden-hf.py
EXTRA_DIST += tests/files/hf/smollm3.gguf tests/files/hf/smollm3.txt tests/files/hf/smollm3.bin
EXTRA_DIST += tests/files/hf/olmo2.gguf tests/files/hf/olmo2.txt tests/files/hf/olmo2.bin
EXTRA_DIST += tests/files/hf/olmo3.gguf tests/files/hf/olmo3.txt tests/files/hf/olmo3.bin
EXTRA_DIST += tests/files/hf/mistral3.gguf tests/files/hf/mistral3.txt tests/files/hf/mistral3.bin
EXTRA_DIST += tests/files/hf/granite.gguf tests/files/hf/granite.txt tests/files/hf/granite.bin
EXTRA_DIST += tests/files/hf/granitemoe.gguf tests/files/hf/granitemoe.txt tests/files/hf/granitemoe.bin
EXTRA_DIST += tests/files/hf/granitemoeshared.gguf tests/files/hf/granitemoeshared.txt tests/files/hf/granitemoeshared.bin
EXTRA_DIST += tests/files/hf/glm4.gguf tests/files/hf/glm4.txt tests/files/hf/glm4.bin
EXTRA_DIST += tests/files/hf/exaone4.gguf tests/files/hf/exaone4.txt tests/files/hf/exaone4.bin
EXTRA_DIST += tests/files/hf/phi4mini.gguf tests/files/hf/phi4mini.txt tests/files/hf/phi4mini.bin
EXTRA_DIST += tests/files/hf/llama4.gguf tests/files/hf/llama4.txt tests/files/hf/llama4.bin
EXTRA_DIST += tests/files/hf/gpt-oss.gguf tests/files/hf/gpt-oss.txt tests/files/hf/gpt-oss.bin
EXTRA_DIST += tests/files/hf/gpt-oss-mxfp4.gguf tests/files/hf/gpt-oss-mxfp4.txt tests/files/hf/gpt-oss-mxfp4.bin
EXTRA_DIST += tests/files/hf/lfm2.gguf tests/files/hf/lfm2.txt tests/files/hf/lfm2.bin
EXTRA_DIST += tests/files/hf/lfm2moe.gguf tests/files/hf/lfm2moe.txt tests/files/hf/lfm2moe.bin
EXTRA_DIST += tests/files/hf/gemma4.gguf tests/files/hf/gemma4.txt tests/files/hf/gemma4.bin
EXTRA_DIST += tests/files/hf/gemma4e.gguf tests/files/hf/gemma4e.txt tests/files/hf/gemma4e.bin
EXTRA_DIST += tests/files/hf/gemma4moe.gguf tests/files/hf/gemma4moe.txt tests/files/hf/gemma4moe.bin
EXTRA_DIST += tests/files/hf/granitehybrid.gguf tests/files/hf/granitehybrid.txt tests/files/hf/granitehybrid.bin
EXTRA_DIST += tests/files/hf/granitehybridmoe.gguf tests/files/hf/granitehybridmoe.txt tests/files/hf/granitehybridmoe.bin

kernels_shared = tests/guarded.h tests/kernels.h tests/levels.h tests/table-scale.h tests/tap.h tests/worse.h
TESTS += tests/kernels.test tests/kernels-attend.test tests/kernels-state.test
check_PROGRAMS += tests/kernels.test tests/kernels-attend.test tests/kernels-state.test
tests_kernels_test_SOURCES        = tests/kernels.c $(kernels_shared)
tests_kernels_test_LDADD          = src/libcore.la
tests_kernels_attend_test_SOURCES = tests/kernels-attend.c $(kernels_shared)
tests_kernels_attend_test_LDADD   = src/libcore.la
tests_kernels_state_test_SOURCES  = tests/kernels-state.c $(kernels_shared)
tests_kernels_state_test_LDADD    = src/libcore.la
EXTRA_DIST += tests/wide.c

TESTS += tests/unit-hadamard.test
check_PROGRAMS += tests/unit-hadamard.test
tests_unit_hadamard_test_SOURCES = tests/unit-hadamard.c tests/tap.h tests/worse.h
tests_unit_hadamard_test_LDADD   = src/libcore.la

TESTS += tests/unit-sparse.test
check_PROGRAMS += tests/unit-sparse.test
tests_unit_sparse_test_SOURCES = tests/unit-sparse.c tests/tap.h
tests_unit_sparse_test_LDADD   = src/libcore.la

TESTS += tests/unit-attend.test
check_PROGRAMS += tests/unit-attend.test
tests_unit_attend_test_SOURCES = tests/unit-attend.c tests/kernels.h tests/tap.h tests/worse.h
tests_unit_attend_test_LDADD   = src/libcore.la

check_LTLIBRARIES =
if ISA_AVX2
check_LTLIBRARIES += tests/libwide.la
tests_libwide_la_SOURCES = tests/wide.c
tests_libwide_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2) -ffp-contract=off -Wno-psabi
tests_kernels_test_LDADD += tests/libwide.la
tests_kernels_attend_test_LDADD += tests/libwide.la
tests_kernels_state_test_LDADD += tests/libwide.la
tests_unit_attend_test_LDADD += tests/libwide.la
tests_golden_test_LDADD += tests/libwide.la
endif

TESTS += tests/unit-gemm.test
check_PROGRAMS += tests/unit-gemm.test
tests_unit_gemm_test_SOURCES = tests/unit-gemm.c tests/tap.h tests/worse.h
tests_unit_gemm_test_LDADD   = src/libcore.la

if ISA_AVX2
# On a processor that has AVX-VNNI and AMX, too.
emulated = tests/kernels-emulated.test tests/kernels-attend-emulated.test tests/unit-attend-emulated.test \
	tests/unit-gemm-emulated.test tests/unit-repack-emulated.test
TESTS += $(emulated)
check_PROGRAMS += $(emulated)
tests_kernels_emulated_test_SOURCES        = $(tests_kernels_test_SOURCES) tests/emulated/cpu.c
tests_kernels_emulated_test_LDADD          = tests/libemulated.la src/libcore.la tests/libwide.la
tests_kernels_attend_emulated_test_SOURCES = $(tests_kernels_attend_test_SOURCES) tests/emulated/cpu.c
tests_kernels_attend_emulated_test_LDADD   = tests/libemulated.la src/libcore.la tests/libwide.la
tests_unit_attend_emulated_test_SOURCES    = $(tests_unit_attend_test_SOURCES) tests/emulated/cpu.c
tests_unit_attend_emulated_test_LDADD      = tests/libemulated.la src/libcore.la tests/libwide.la
tests_unit_gemm_emulated_test_SOURCES      = $(tests_unit_gemm_test_SOURCES) tests/emulated/cpu.c
tests_unit_gemm_emulated_test_LDADD        = tests/libemulated.la src/libcore.la
tests_unit_repack_emulated_test_SOURCES    = $(tests_unit_repack_test_SOURCES) tests/emulated/cpu.c
tests_unit_repack_emulated_test_LDADD      = tests/libemulated.la src/libcore.la
check_LTLIBRARIES += tests/libemulated.la
tests_libemulated_la_SOURCES = tests/emulated/tiles.h
tests_libemulated_la_LIBADD  =
if ISA_AVXVNNI
check_LTLIBRARIES += tests/libemulated-avxvnni.la
tests_libemulated_avxvnni_la_SOURCES = tests/emulated/avxvnni.c
tests_libemulated_avxvnni_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2) -ffp-contract=off
tests_libemulated_la_LIBADD += tests/libemulated-avxvnni.la
endif
if ISA_AMX
check_LTLIBRARIES += tests/libemulated-amx.la
tests_libemulated_amx_la_SOURCES = tests/emulated/amx.c
tests_libemulated_amx_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AMX) -ffp-contract=off
tests_libemulated_la_LIBADD += tests/libemulated-amx.la
endif
endif

TESTS += tests/unit-file.test
check_PROGRAMS += tests/unit-file.test
tests_unit_file_test_SOURCES = tests/unit-file.c tests/tap.h
tests_unit_file_test_LDADD   = src/libcore.la

TESTS += tests/unit-base.test
check_PROGRAMS += tests/unit-base.test
tests_unit_base_test_SOURCES = tests/unit-base.c tests/rng.h tests/tap.h
tests_unit_base_test_LDADD   = src/libcore.la

TESTS += tests/unit-leaks.test
check_PROGRAMS += tests/unit-leaks.test
tests_unit_leaks_test_SOURCES = tests/unit-leaks.c tests/tap.h
tests_unit_leaks_test_LDFLAGS = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup -Wl,--wrap=free \
	-Wl,--wrap=mmap -Wl,--wrap=munmap
tests_unit_leaks_test_LDADD   = src/libcore.la

TESTS += tests/unit-stats.test
check_PROGRAMS += tests/unit-stats.test
tests_unit_stats_test_SOURCES = tests/unit-stats.c tests/tap.h
tests_unit_stats_test_LDADD   = src/libcore.la

TESTS += tests/unit-weights.test
check_PROGRAMS += tests/unit-weights.test
tests_unit_weights_test_SOURCES = tests/unit-weights.c tests/tap.h
tests_unit_weights_test_LDADD   = src/libcore.la

TESTS += tests/unit-near.test
check_PROGRAMS += tests/unit-near.test
tests_unit_near_test_SOURCES = tests/unit-near.c tests/tap.h
tests_unit_near_test_LDADD   = src/libcore.la

TESTS += tests/unit-sample.test
check_PROGRAMS += tests/unit-sample.test
tests_unit_sample_test_SOURCES = tests/unit-sample.c tests/rng.h tests/tap.h
tests_unit_sample_test_LDADD   = src/libcore.la

TESTS += tests/unit-grammar.test
check_PROGRAMS += tests/unit-grammar.test
tests_unit_grammar_test_SOURCES = tests/unit-grammar.c tests/rng.h tests/tap.h
tests_unit_grammar_test_LDADD   = src/libcore.la

TESTS += tests/unit-schema.test
check_PROGRAMS += tests/unit-schema.test
tests_unit_schema_test_SOURCES = tests/unit-schema.c tests/rng.h tests/tap.h
tests_unit_schema_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-draft.test
check_PROGRAMS += tests/unit-draft.test
tests_unit_draft_test_SOURCES = tests/unit-draft.c tests/apart.h tests/level.h tests/rng.h tests/tap.h
tests_unit_draft_test_LDADD   = src/libcore.la

TESTS += tests/unit-think.test
check_PROGRAMS += tests/unit-think.test
tests_unit_think_test_SOURCES = tests/unit-think.c tests/tap.h
tests_unit_think_test_LDADD   = src/libcore.la

TESTS += tests/unit-events.test
check_PROGRAMS += tests/unit-events.test
tests_unit_events_test_SOURCES = tests/unit-events.c tests/rng.h tests/tap.h
tests_unit_events_test_LDADD   = $(CLI_LDADD)
EXTRA_DIST += tests/answer-server.py tests/serve-client.py tests/serve-browser.py

TESTS += tests/unit-http.test
check_PROGRAMS += tests/unit-http.test
tests_unit_http_test_SOURCES = tests/unit-http.c tests/tap.h
tests_unit_http_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-token.test
check_PROGRAMS += tests/unit-token.test
tests_unit_token_test_SOURCES = tests/unit-token.c tests/rng.h tests/tap.h
tests_unit_token_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/unicode-data.py tests/files/token/README tests/files/token/vectors.py \
	tests/files/token/gpt-2.vec tests/files/token/llama-bpe.vec \
	tests/files/token/qwen2.vec tests/files/token/mini.vec \
	tests/files/token/llama-spm.vec tests/files/token/phi-3.vec \
	tests/files/token/gemma4.gguf tests/files/token/gemma4.vec build-aux/gemma-vectors.py \
	tests/files/token/gpt-4o.gguf tests/files/token/gpt-4o.vec build-aux/bpe-vectors.py \
	tests/files/token/lfm2.gguf tests/files/token/lfm2.vec \
	tests/files/token/llama4.gguf tests/files/token/llama4.vec \
	tests/files/token/qwen35.gguf tests/files/token/qwen35.vec \
	tests/files/token/smollm.gguf tests/files/token/smollm.vec \
	tests/files/token/tekken.gguf tests/files/token/tekken.vec \
	tests/files/token/mistral-v1.vec tests/files/token/mistral-v3.vec \
	build-aux/pre-vectors.py tests/files/token/words.txt

TESTS += tests/unit-eval.test
check_PROGRAMS += tests/unit-eval.test
tests_unit_eval_test_SOURCES = tests/unit-eval.c tests/tap.h tests/worse.h
tests_unit_eval_test_LDADD   = src/libcore.la

TESTS += tests/unit-calibrate.test
check_PROGRAMS += tests/unit-calibrate.test
tests_unit_calibrate_test_SOURCES = tests/unit-calibrate.c tests/file.h tests/level.h tests/tap.h
tests_unit_calibrate_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/calibrate-vectors.py tests/files/golden/calibrate.txt

TESTS += tests/unit-refine.test
check_PROGRAMS += tests/unit-refine.test
tests_unit_refine_test_SOURCES = tests/unit-refine.c tests/tap.h
tests_unit_refine_test_LDADD   = src/libcore.la

TESTS += tests/unit-score.test
check_PROGRAMS += tests/unit-score.test
tests_unit_score_test_SOURCES = tests/unit-score.c tests/file.h tests/tap.h
tests_unit_score_test_LDADD   = $(CLI_LDADD)
EXTRA_DIST += build-aux/score-vectors.py tests/files/score.jsonl build-aux/score-sets.py tests/files/score-sets.jsonl

TESTS += tests/unit-chance.test
check_PROGRAMS += tests/unit-chance.test
tests_unit_chance_test_SOURCES = tests/unit-chance.c tests/tap.h
tests_unit_chance_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-document.test
check_PROGRAMS += tests/unit-document.test
tests_unit_document_test_SOURCES = tests/unit-document.c tests/file.h tests/tap.h
tests_unit_document_test_LDADD   = src/libcore.la

TESTS += tests/unit-output.test
check_PROGRAMS += tests/unit-output.test
tests_unit_output_test_SOURCES = tests/unit-output.c tests/tap.h
tests_unit_output_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-progress.test
check_PROGRAMS += tests/unit-progress.test
tests_unit_progress_test_SOURCES = tests/unit-progress.c tests/tap.h
tests_unit_progress_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-child.test
check_PROGRAMS += tests/unit-child.test
tests_unit_child_test_SOURCES = tests/unit-child.c tests/tap.h
tests_unit_child_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-options.test
check_PROGRAMS += tests/unit-options.test
tests_unit_options_test_SOURCES = tests/unit-options.c tests/tap.h
tests_unit_options_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-rows.test
check_PROGRAMS += tests/unit-rows.test
tests_unit_rows_test_SOURCES = tests/unit-rows.c tests/tap.h
tests_unit_rows_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-office.test
check_PROGRAMS += tests/unit-office.test
tests_unit_office_test_SOURCES = tests/unit-office.c tests/tap.h
tests_unit_office_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-formats.test
check_PROGRAMS += tests/unit-formats.test
tests_unit_formats_test_SOURCES = tests/unit-formats.c tests/tap.h
tests_unit_formats_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-place.test
check_PROGRAMS += tests/unit-place.test
tests_unit_place_test_SOURCES = tests/unit-place.c tests/marked.h tests/rng.h tests/tap.h
tests_unit_place_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-cite.test
check_PROGRAMS += tests/unit-cite.test
tests_unit_cite_test_SOURCES = tests/unit-cite.c tests/rng.h tests/tap.h
tests_unit_cite_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-io.test
check_PROGRAMS += tests/unit-io.test
tests_unit_io_test_SOURCES = tests/unit-io.c tests/tap.h
tests_unit_io_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-segment.test
check_PROGRAMS += tests/unit-segment.test
tests_unit_segment_test_SOURCES = tests/unit-segment.c tests/tap.h
tests_unit_segment_test_LDADD   = src/libcore.la

TESTS += tests/unit-serve.test
check_PROGRAMS += tests/unit-serve.test
tests_unit_serve_test_SOURCES = tests/unit-serve.c tests/file.h tests/folder.h tests/tap.h
tests_unit_serve_test_LDADD   = $(CLI_LDADD)
EXTRA_DIST += tests/files/serve.txt

TESTS += tests/unit-store.test
check_PROGRAMS += tests/unit-store.test
tests_unit_store_test_SOURCES = tests/unit-store.c tests/folder.h tests/refuse.h tests/tap.h
tests_unit_store_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-ask.test
check_PROGRAMS += tests/unit-ask.test
tests_unit_ask_test_SOURCES = tests/unit-ask.c tests/tap.h
tests_unit_ask_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-work.test
check_PROGRAMS += tests/unit-work.test
tests_unit_work_test_SOURCES = tests/unit-work.c tests/folder.h tests/tap.h
tests_unit_work_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-args.test
check_PROGRAMS += tests/unit-args.test
tests_unit_args_test_SOURCES = tests/unit-args.c tests/args-help.h tests/tap.h
tests_unit_args_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-commands.test
check_PROGRAMS += tests/unit-commands.test
tests_unit_commands_test_SOURCES = tests/unit-commands.c tests/args-help.h tests/tap.h
tests_unit_commands_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-write.test
check_PROGRAMS += tests/unit-write.test
tests_unit_write_test_SOURCES = tests/unit-write.c tests/tap.h
tests_unit_write_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-report.test
check_PROGRAMS += tests/unit-report.test
tests_unit_report_test_SOURCES = tests/unit-report.c tests/tap.h
tests_unit_report_test_LDADD   = $(CLI_LDADD)
EXTRA_DIST += tests/files/report.html

TESTS += tests/unit-show.test
check_PROGRAMS += tests/unit-show.test
tests_unit_show_test_SOURCES = tests/unit-show.c tests/tap.h
tests_unit_show_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-places.test
check_PROGRAMS += tests/unit-places.test
tests_unit_places_test_SOURCES = tests/unit-places.c tests/tap.h
tests_unit_places_test_LDADD   = $(CLI_LDADD)

TESTS += tests/unit-device.test
check_PROGRAMS += tests/unit-device.test
tests_unit_device_test_SOURCES = tests/unit-device.c tests/level.h tests/plugins.h tests/tap.h
tests_unit_device_test_LDADD   = src/libcore.la

TESTS += tests/unit-repack.test
check_PROGRAMS += tests/unit-repack.test
tests_unit_repack_test_SOURCES = tests/unit-repack.c tests/plugins.h tests/rng.h tests/tap.h
tests_unit_repack_test_LDADD   = src/libcore.la

TESTS += tests/unit-guess.test
check_PROGRAMS += tests/unit-guess.test
tests_unit_guess_test_SOURCES = tests/unit-guess.c tests/level.h tests/plugins.h tests/tap.h
tests_unit_guess_test_LDADD   = src/libcore.la
TESTS += tests/unit-arch.test
check_PROGRAMS += tests/unit-arch.test
tests_unit_arch_test_SOURCES = tests/unit-arch.c tests/tap.h
tests_unit_arch_test_LDADD   = src/libcore.la

TESTS += tests/unit-layers.test
check_PROGRAMS += tests/unit-layers.test
tests_unit_layers_test_SOURCES = tests/unit-layers.c tests/tap.h
tests_unit_layers_test_LDADD   = src/libcore.la

TESTS += tests/unit-template.test
check_PROGRAMS += tests/unit-template.test
tests_unit_template_test_SOURCES = tests/unit-template.c tests/file.h tests/rng.h tests/tap.h
tests_unit_template_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/template-vectors.py tests/files/template/README \
	tests/files/template/jinja.txt tests/files/template/golden.txt

TESTS += tests/unit-gguf.test tests/unit-quant.test
check_PROGRAMS += tests/unit-gguf.test tests/unit-quant.test tests/mkmodel
tests_unit_gguf_test_SOURCES = tests/unit-gguf.c tests/gguf-walk.h tests/rng.h tests/tap.h
tests_unit_gguf_test_LDADD   = src/libcore.la
tests_unit_quant_test_SOURCES = tests/unit-quant.c tests/file.h tests/rng.h tests/tap.h
tests_unit_quant_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/quant-grids.py build-aux/quant-vectors.py tests/files/quant
tests_mkmodel_SOURCES = tests/mkmodel.c tests/mkmodel-write.c tests/mkmodel-break.c tests/mkmodel.h \
	tests/table-scale.h
tests_mkmodel_LDADD   = src/libcore.la

# A device that is this processor, opened as plugins are.
check_LTLIBRARIES += gpu/null/gemkv-null.la
gpu_null_gemkv_null_la_SOURCES = gpu/null/null.c gpu/plugin.h
gpu_null_gemkv_null_la_LIBADD  = src/libcore.la
gpu_null_gemkv_null_la_LDFLAGS = -module -avoid-version -rpath /nowhere

TESTS += tests/cli.sh tests/man.sh tests/man-examples.sh tests/map.sh tests/baseline.sh tests/rooms.sh tests/units.sh tests/state.sh tests/packaging.sh \
	tests/example.sh tests/recipes.sh
EXTRA_DIST += tests/recipes.sh tests/cli.sh tests/library-killed.sh tests/man.sh tests/man-examples.sh tests/map.sh tests/baseline.sh tests/rooms.sh tests/units.sh \
	tests/state.sh tests/packaging.sh tests/example.sh tests/cli tests/files/README tests/files/manual \
	tests/files/office.py tests/files/damage.py
# make has a rule of its own to make X of X.sh, and would try it when cli.sh is newer than this folder.
tests/cli: ; @:

# A target of fuzzing is one file of tests/fuzz, and one line here.  With a driver of ours it replays files, and
# tests/fuzz.sh has it replay all that is known; with $LIB_FUZZING_ENGINE it is a fuzzer (build-aux/fuzz.sh).
FUZZERS = \
	tests/fuzz/catalogue \
	tests/fuzz/gguf \
	tests/fuzz/grammar \
	tests/fuzz/http \
	tests/fuzz/json \
	tests/fuzz/jsonl \
	tests/fuzz/kernels \
	tests/fuzz/model \
	tests/fuzz/names \
	tests/fuzz/office \
	tests/fuzz/options \
	tests/fuzz/pages \
	tests/fuzz/reader \
	tests/fuzz/schema \
	tests/fuzz/segment \
	tests/fuzz/template \
	tests/fuzz/tokenizer \
	tests/fuzz/vocabulary
check_PROGRAMS += $(FUZZERS)
fuzzers: $(FUZZERS)
LDADD = tests/fuzz/libfuzz.la $(CLI_LDADD)
check_LTLIBRARIES += tests/fuzz/libfuzz.la
tests_fuzz_libfuzz_la_SOURCES = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/pieces.h tests/gguf-walk.h
if FUZZ_ENGINE
LDADD += $(LIB_FUZZING_ENGINE)
else
tests_fuzz_libfuzz_la_SOURCES += tests/fuzz/driver.c tests/rng.h
endif
TESTS += tests/fuzz.sh
EXTRA_DIST += tests/fuzz.sh tests/fuzz/README tests/fuzz/seeds.py tests/fuzz/seeds tests/fuzz/requests.py \
	build-aux/fuzz.sh build-aux/fuzz-cover.sh build-aux/testtree.py build-aux/coverage.py build-aux/mutants.py

TESTS += tests/unit-group.test
check_PROGRAMS += tests/unit-group.test
tests_unit_group_test_SOURCES = tests/unit-group.c tests/rng.h tests/tap.h
tests_unit_group_test_LDADD   = src/libcore.la

TESTS += tests/unit-reader.test
check_PROGRAMS += tests/unit-reader.test
tests_unit_reader_test_SOURCES = tests/unit-reader.c tests/marked.h tests/rng.h tests/tap.h
tests_unit_reader_test_LDADD   = src/libcore.la

TESTS += tests/unit-session.test
check_PROGRAMS += tests/unit-session.test
tests_unit_session_test_SOURCES = tests/unit-session.c tests/plugins.h tests/tap.h
tests_unit_session_test_LDADD   = src/libcore.la

# The pool, whichever team the library has.
TESTS += tests/unit-team.test
check_PROGRAMS += tests/unit-team.test
tests_unit_team_test_SOURCES = tests/unit-team.c src/base/team-pool.c tests/tap.h
tests_unit_team_test_CFLAGS  = $(AM_CFLAGS)
tests_unit_team_test_LDADD   = src/libcore.la

TESTS += tests/unit-cores.test
check_PROGRAMS += tests/unit-cores.test
tests_unit_cores_test_SOURCES = tests/unit-cores.c tests/tap.h
tests_unit_cores_test_LDADD   = src/libcore.la

TESTS += tests/unit-rank.test
check_PROGRAMS += tests/unit-rank.test
tests_unit_rank_test_SOURCES = tests/unit-rank.c tests/tap.h
tests_unit_rank_test_LDADD   = src/libcore.la
TESTS += tests/unit-bm25.test
check_PROGRAMS += tests/unit-bm25.test
tests_unit_bm25_test_SOURCES = tests/unit-bm25.c tests/tap.h
tests_unit_bm25_test_LDADD   = src/libcore.la

TESTS += tests/unit-index.test
check_PROGRAMS += tests/unit-index.test
tests_unit_index_test_SOURCES = tests/unit-index.c tests/tap.h tests/worse.h
tests_unit_index_test_LDADD   = src/libcore.la

TESTS += tests/unit-library.test tests/unit-library-damage.test
check_PROGRAMS += tests/unit-library.test tests/unit-library-damage.test
tests_unit_library_test_SOURCES         = tests/unit-library.c tests/library-help.h tests/tap.h
tests_unit_library_test_CPPFLAGS        = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_library_test_LDADD           = src/libcore.la $(SQLITE_LIBS)
tests_unit_library_damage_test_SOURCES  = tests/unit-library-damage.c tests/library-help.h tests/refuse.h tests/tap.h
tests_unit_library_damage_test_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_library_damage_test_LDADD    = src/libcore.la $(SQLITE_LIBS)

# Commands whose allocations and system calls fail.
TESTS += tests/faults.sh
EXTRA_DIST += tests/faults.sh tests/faults-client.py
check_PROGRAMS += tests/fault-call
tests_fault_call_SOURCES = tests/fault-call.c
check_LTLIBRARIES += tests/fault-alloc.la
tests_fault_alloc_la_SOURCES = tests/fault-alloc.c
tests_fault_alloc_la_LDFLAGS = -module -avoid-version -rpath /nowhere

TESTS += tests/unit-sandbox.test
check_PROGRAMS += tests/unit-sandbox.test
tests_unit_sandbox_test_SOURCES = tests/unit-sandbox.c tests/tap.h
tests_unit_sandbox_test_LDADD   = $(CLI_LDADD)
