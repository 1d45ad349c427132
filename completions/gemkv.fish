# SPDX-License-Identifier: BSD-2-Clause
gemkv --completion fish | source
