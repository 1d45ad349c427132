# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += packaging/README.md packaging/deb packaging/deb-check packaging/debian packaging/debian-cuda packaging/rpm packaging/spack \
	packaging/nix packaging/guix packaging/homebrew packaging/oss-fuzz
