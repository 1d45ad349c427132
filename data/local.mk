# SPDX-License-Identifier: BSD-2-Clause
# The default model and the demonstration document (data/README.md says what they are).
dist_pkgdata_DATA = data/gemkv-mini-q8_0.gguf data/prophets-mantle.txt \
	data/needles.json
recipesdir = $(pkgdatadir)/recipes
dist_recipes_SCRIPTS = data/recipes/batch-parallel.sh data/recipes/batch-slurm.sh data/recipes/batch-mpirun.sh \
	data/recipes/batch-dask.py
dist_recipes_DATA = data/recipes/batch-kubernetes.yaml
servedir = $(pkgdatadir)/serve
dist_serve_DATA = data/serve/page.html data/serve/page.css data/serve/page.js

# A service that the first request starts.
if UNITS
dist_systemdsystemunit_DATA = data/systemd/gemkv.socket
nodist_systemdsystemunit_DATA = data/systemd/gemkv.service
endif
EXTRA_DIST += data/systemd/gemkv.service.in
CLEANFILES += data/systemd/gemkv.service
data/systemd/gemkv.service: data/systemd/gemkv.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) data/systemd && sed 's|@bindir[@]|$(bindir)|g' $(srcdir)/data/systemd/gemkv.service.in >$@

EXTRA_DIST += data/README.md data/picture.svg build-aux/demo.py build-aux/picture.py
# The recipe of the model is its source.
EXTRA_DIST += data/train/README.md data/train/average.py data/train/export.py data/train/facts.py data/train/facts.txt \
	data/train/gguf.py data/train/kinds.txt data/train/means.py data/train/measure.py data/train/model.py data/train/names.py \
	data/train/opposites.txt data/train/originals.py data/train/prepare.py data/train/questions.py data/train/rows.py \
	data/train/sittings.sh data/train/sources.py data/train/spans.py data/train/squad.py data/train/subset.py data/train/thin.py \
	data/train/tokenizer.py data/train/train.py data/train/twins.py

# A program in the build tree finds its data as an installed one does: beside itself, in
# ../share/gemkv (the program proper is .libs/gemkv).
all-local: share/gemkv
share/gemkv:
	$(MKDIR_P) share
	rm -f $@ && $(LN_S) "`cd $(srcdir)/data && pwd`" $@
clean-local:
	rm -rf share
