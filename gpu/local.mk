# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += gpu/README.md gpu/plugin.h gpu/cuda/plugin.cu gpu/cuda/type.cuh gpu/cuda/gemv.cuh \
	gpu/cuda/attend.cuh gpu/cuda/rows.cuh

# Opened by libgemkv from this folder, never linked.
cuda_files = $(srcdir)/gpu/cuda/plugin.cu $(srcdir)/gpu/cuda/type.cuh $(srcdir)/gpu/cuda/gemv.cuh \
	$(srcdir)/gpu/cuda/attend.cuh $(srcdir)/gpu/cuda/rows.cuh $(srcdir)/gpu/plugin.h $(srcdir)/src/quant.h
gpu/cuda/gemkv-cuda.so: $(cuda_files)
	$(AM_V_GEN)$(MKDIR_P) gpu/cuda && $(NVCC) -shared -std=c++17 $(NVCCFLAGS) $(CUDA_TARGETS) \
	  -Xcompiler -fPIC,-fvisibility=hidden -I$(srcdir) -o $@ $(srcdir)/gpu/cuda/plugin.cu \
	  $(CUDA_LIBS) -Xlinker -z,nodelete
CLEANFILES += gpu/cuda/gemkv-cuda.so
pluginexecdir = $(pkglibdir)
if CUDA
pluginexec_DATA = gpu/cuda/gemkv-cuda.so
endif
