# SPDX-License-Identifier: BSD-2-Clause
# Each asks the program for the script when it is first needed, so a script always fits the program that is installed, and
# a cross-build needs to run nothing.
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir  = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
dist_bashcomp_DATA = completions/gemkv
dist_zshcomp_DATA  = completions/_gemkv
dist_fishcomp_DATA = completions/gemkv.fish
