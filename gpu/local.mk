# SPDX-License-Identifier: BSD-2-Clause
cuda_units = $(srcdir)/gpu/cuda/attend.cu $(srcdir)/gpu/cuda/moe.cu $(srcdir)/gpu/cuda/pass.cu \
	$(srcdir)/gpu/cuda/plan.cu $(srcdir)/gpu/cuda/plugin.cu $(srcdir)/gpu/cuda/product.cu \
	$(srcdir)/gpu/cuda/state.cu $(srcdir)/gpu/cuda/upload.cu
cuda_headers = $(srcdir)/gpu/cuda/attend.cuh $(srcdir)/gpu/cuda/device.cuh $(srcdir)/gpu/cuda/form.cuh \
	$(srcdir)/gpu/cuda/gemv.cuh $(srcdir)/gpu/cuda/moe.cuh $(srcdir)/gpu/cuda/rows.cuh \
	$(srcdir)/gpu/cuda/sort.cuh $(srcdir)/gpu/cuda/state.cuh $(srcdir)/gpu/cuda/type.cuh \
	$(srcdir)/gpu/cuda/unpack.cuh
EXTRA_DIST += gpu/README.md gpu/plugin.h $(cuda_units) $(cuda_headers)

# libgemkv opens plugins from this folder at run time; it is never linked with them.
gpu/cuda/gemkv-cuda.so: $(cuda_units) $(cuda_headers) $(srcdir)/gpu/plugin.h $(srcdir)/src/quant/quant.h \
		$(srcdir)/src/quant/types.h
	$(AM_V_GEN)$(MKDIR_P) gpu/cuda && $(NVCC) -shared -std=c++17 $(NVCCFLAGS) $(CUDA_TARGETS) \
	  -Xcompiler -fPIC,-fvisibility=hidden -I$(srcdir) -o $@ $(cuda_units) \
	  $(CUDA_LIBS) -Xlinker -z,nodelete
CLEANFILES += gpu/cuda/gemkv-cuda.so
pluginexecdir = $(pkglibdir)
pluginexec_DATA =
if CUDA
pluginexec_DATA += gpu/cuda/gemkv-cuda.so
endif
