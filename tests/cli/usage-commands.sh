# SPDX-License-Identifier: BSD-2-Clause
t
t bogus
t help bogus
t --nope
t --help | head -n 1
t help ask | head -n 1
t select --help | head -n 1
t help tokenize
t help tokens
gemkv --version | mask
