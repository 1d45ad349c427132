# SPDX-License-Identifier: BSD-2-Clause
# The Python module is not built here: pip does that.
TESTS += tests/python.sh
EXTRA_DIST += tests/python.sh python/README.md python/COPYING python/pyproject.toml \
	python/gemkv/__init__.py python/gemkv/_c.py python/gemkv/_document.py python/gemkv/_errors.py \
	python/gemkv/_handle.py python/gemkv/_library.py python/gemkv/_model.py python/gemkv/_passages.py \
	python/gemkv/_read.py python/gemkv/py.typed \
	python/examples/langchain_compressor.py python/examples/llama_index_postprocessor.py \
	python/examples/pandas_table.py \
	python/tests/__main__.py python/tests/test_gemkv.py python/tests/test_layout.py python/tests/test_read.py
