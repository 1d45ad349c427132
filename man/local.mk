# SPDX-License-Identifier: BSD-2-Clause
dist_man1_MANS = man/gemkv.1 man/gemkv-ask.1 man/gemkv-batch.1 man/gemkv-bench.1 man/gemkv-calibrate.1 man/gemkv-chat.1 \
	man/gemkv-eval.1 man/gemkv-index.1 man/gemkv-info.1 man/gemkv-models.1 man/gemkv-pair.1 man/gemkv-select.1 man/gemkv-serve.1 \
	man/gemkv-tokenize.1
dist_man3_MANS = man/libgemkv.3
dist_man5_MANS = man/gemkv-library.5
dist_man7_MANS = man/gemkv-documents.7 man/gemkv-methods.7 man/gemkv-models.7 man/gemkv-tutorial.7
