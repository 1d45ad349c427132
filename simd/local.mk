# SPDX-License-Identifier: BSD-2-Clause
# One convenience library per instruction set, with its own flags; nothing else is compiled
# above the baseline.  Which products and sums are fused is said in the kernels (impl/vec.h).
noinst_LTLIBRARIES += simd/libsimd.la
simd_libsimd_la_SOURCES = simd/simd.h simd/simd.c simd/cpu.c simd/ref.c simd/vec_impl.h \
	simd/impl/vec.h simd/impl/wide.h simd/impl/bytes.h simd/impl/formats.h simd/impl/gemm.h \
	simd/impl/tile.h simd/impl/tiles.h simd/impl/scales.h simd/impl/form_int.h simd/impl/gemm_int.h \
	simd/impl/gemm_coarse.h simd/impl/gemv_int.h \
	simd/impl/gemm_bf16.h simd/impl/gemm_tiles.h simd/impl/gemm_tiles_i8.h \
	simd/impl/pairs.h simd/impl/softmax.h simd/impl/attend.h simd/impl/attend_bf16.h \
	simd/impl/attend_few.h simd/impl/attend_few_bf16.h \
	simd/impl/rows.h simd/impl/state.h
simd_libsimd_la_LIBADD  =
if ISA_AVX2
noinst_LTLIBRARIES += simd/libavx2.la
simd_libavx2_la_SOURCES = simd/x86/avx2.c
simd_libavx2_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX2) -ffp-contract=off
simd_libsimd_la_LIBADD += simd/libavx2.la
endif
if ISA_AVXVNNI
noinst_LTLIBRARIES += simd/libavxvnni.la
simd_libavxvnni_la_SOURCES = simd/x86/avxvnni.c
simd_libavxvnni_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVXVNNI) -ffp-contract=off
simd_libsimd_la_LIBADD    += simd/libavxvnni.la
endif
if ISA_AVX512
noinst_LTLIBRARIES += simd/libavx512.la
simd_libavx512_la_SOURCES = simd/x86/avx512.c
simd_libavx512_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX512) -ffp-contract=off
simd_libsimd_la_LIBADD   += simd/libavx512.la
endif
if ISA_AVX512BF16
noinst_LTLIBRARIES += simd/libavx512bf16.la
simd_libavx512bf16_la_SOURCES = simd/x86/avx512bf16.c
simd_libavx512bf16_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AVX512BF16) -ffp-contract=off
simd_libsimd_la_LIBADD       += simd/libavx512bf16.la
endif
if ISA_AMX
noinst_LTLIBRARIES += simd/libamx.la
simd_libamx_la_SOURCES = simd/x86/amx.c
simd_libamx_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_AMX) -ffp-contract=off
simd_libsimd_la_LIBADD += simd/libamx.la
endif
if ISA_NEON
noinst_LTLIBRARIES += simd/libneon.la
simd_libneon_la_SOURCES = simd/arm/neon.c
simd_libneon_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_NEON) -ffp-contract=off
simd_libsimd_la_LIBADD += simd/libneon.la
endif
if ISA_DOTPROD
noinst_LTLIBRARIES += simd/libdotprod.la
simd_libdotprod_la_SOURCES = simd/arm/dotprod.c
simd_libdotprod_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_DOTPROD) -ffp-contract=off
simd_libsimd_la_LIBADD    += simd/libdotprod.la
endif
if ISA_I8MM
noinst_LTLIBRARIES += simd/libi8mm.la
simd_libi8mm_la_SOURCES = simd/arm/i8mm.c
simd_libi8mm_la_CFLAGS  = $(AM_CFLAGS) $(CFLAGS_I8MM) -ffp-contract=off
simd_libsimd_la_LIBADD += simd/libi8mm.la
endif
