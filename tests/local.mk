# SPDX-License-Identifier: BSD-2-Clause
TEST_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER   = $(TEST_LOG_DRIVER)
TEST_EXTENSIONS = .test .sh
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)' builddir='$(builddir)' MANDOC='$(MANDOC)' \
	CFLAGS='$(CFLAGS)' OBJDUMP='$(OBJDUMP)' ; \
	export srcdir builddir MANDOC CFLAGS OBJDUMP ;

# The oracle's golden vectors, end to end below the command line.
TESTS += tests/golden.test
check_PROGRAMS += tests/golden.test
tests_golden_test_SOURCES = tests/golden.c tests/file.h tests/kernels.h tests/tap.h
tests_golden_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/golden.py \
	tests/files/golden/cases.txt tests/files/golden/cases.bin \
	tests/files/golden/llama3.gguf tests/files/golden/mistral.gguf

TESTS += tests/kernels.test
check_PROGRAMS += tests/kernels.test
tests_kernels_test_SOURCES = tests/kernels.c tests/kernels.h tests/tap.h
tests_kernels_test_LDADD   = src/libcore.la
EXTRA_DIST += tests/wide.c

TESTS += tests/unit-attend.test
check_PROGRAMS += tests/unit-attend.test
tests_unit_attend_test_SOURCES = tests/unit-attend.c tests/kernels.h tests/tap.h
tests_unit_attend_test_LDADD   = src/libcore.la
if ISA_AVX2
check_LTLIBRARIES = tests/libwide.la
tests_libwide_la_SOURCES = tests/wide.c
tests_libwide_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2) -ffp-contract=fast -Wno-psabi
tests_kernels_test_LDADD += tests/libwide.la
tests_unit_attend_test_LDADD += tests/libwide.la
tests_golden_test_LDADD += tests/libwide.la
endif

TESTS += tests/unit-gemm.test
check_PROGRAMS += tests/unit-gemm.test
tests_unit_gemm_test_SOURCES = tests/unit-gemm.c tests/tap.h
tests_unit_gemm_test_LDADD   = src/libcore.la

TESTS += tests/unit-token.test
check_PROGRAMS += tests/unit-token.test
tests_unit_token_test_SOURCES = tests/unit-token.c tests/tap.h
tests_unit_token_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/unicode-data.py tests/files/token/README tests/files/token/vectors.py \
	tests/files/token/gpt-2.vec tests/files/token/llama-bpe.vec \
	tests/files/token/qwen2.vec tests/files/token/mini.vec

TESTS += tests/unit-eval.test
check_PROGRAMS += tests/unit-eval.test
tests_unit_eval_test_SOURCES = tests/unit-eval.c tests/tap.h
tests_unit_eval_test_LDADD   = src/libcore.la

TESTS += tests/unit-prompt.test
check_PROGRAMS += tests/unit-prompt.test
tests_unit_prompt_test_SOURCES = tests/unit-prompt.c tests/file.h tests/tap.h
tests_unit_prompt_test_LDADD   = src/libcore.la

TESTS += tests/unit-gguf.test tests/unit-quant.test
check_PROGRAMS += tests/unit-gguf.test tests/unit-quant.test tests/mkmodel tests/fuzz-gguf
tests_unit_gguf_test_SOURCES = tests/unit-gguf.c tests/gguf-walk.h tests/tap.h
tests_unit_gguf_test_LDADD   = src/libcore.la
tests_unit_quant_test_SOURCES = tests/unit-quant.c tests/file.h tests/tap.h
tests_unit_quant_test_LDADD   = src/libcore.la
EXTRA_DIST += build-aux/quant-vectors.py tests/files/quant/README tests/files/quant/encode.txt \
	tests/files/quant/q8_0.bin tests/files/quant/q4_0.bin tests/files/quant/q4_1.bin \
	tests/files/quant/q5_0.bin tests/files/quant/q5_1.bin tests/files/quant/q2_k.bin \
	tests/files/quant/q3_k.bin tests/files/quant/q4_k.bin tests/files/quant/q5_k.bin \
	tests/files/quant/q6_k.bin tests/files/quant/iq4_nl.bin tests/files/quant/iq4_xs.bin
tests_mkmodel_SOURCES = tests/mkmodel.c tests/mkmodel-write.c tests/mkmodel-break.c tests/mkmodel.h
tests_mkmodel_LDADD   = src/libcore.la

TESTS += tests/cli.sh tests/man.sh tests/map.sh tests/baseline.sh
EXTRA_DIST += tests/cli.sh tests/man.sh tests/map.sh tests/baseline.sh tests/cli tests/files/README

# Replays files through the reader; with -DGKV_LIBFUZZER -fsanitize=fuzzer, the fuzzer itself.
tests_fuzz_gguf_SOURCES = tests/fuzz/gguf.c tests/gguf-walk.h
tests_fuzz_gguf_LDADD   = src/libcore.la
