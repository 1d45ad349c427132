#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# From a git checkout: creates configure from configure.ac.
set -e
cd "$(dirname "$0")"
exec autoreconf -fi "$@"
