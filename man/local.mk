# SPDX-License-Identifier: BSD-2-Clause
dist_man1_MANS = man/gemkv.1
