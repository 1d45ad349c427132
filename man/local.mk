# SPDX-License-Identifier: BSD-2-Clause
dist_man1_MANS = man/gemkv.1
dist_man3_MANS = man/libgemkv.3
dist_man5_MANS = man/gemkv-library.5
dist_man7_MANS = man/gemkv-methods.7
