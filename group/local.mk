# SPDX-License-Identifier: BSD-2-Clause
# The program opens one of these at run time; neither it nor the library is linked with MPI.
EXTRA_DIST += group/plugin.h group/mpi.c
mpi_plugin = $(AM_V_CC)$(MKDIR_P) group && $(CC) -shared -fPIC -fvisibility=hidden $(CPPFLAGS) $(AM_CPPFLAGS) -I$(srcdir) \
	$(CFLAGS) $(LDFLAGS) -o $@ $(srcdir)/group/mpi.c -pthread
group/gemkv-openmpi.so: $(srcdir)/group/mpi.c $(srcdir)/group/plugin.h
	$(mpi_plugin) $(OPENMPI_CFLAGS) $(OPENMPI_LIBS)
group/gemkv-mpich.so: $(srcdir)/group/mpi.c $(srcdir)/group/plugin.h
	$(mpi_plugin) $(MPICH_CFLAGS) $(MPICH_LIBS)
CLEANFILES += group/gemkv-openmpi.so group/gemkv-mpich.so
if OPENMPI
pluginexec_DATA += group/gemkv-openmpi.so
endif
if MPICH
pluginexec_DATA += group/gemkv-mpich.so
endif
