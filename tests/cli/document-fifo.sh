# SPDX-License-Identifier: BSD-2-Clause
# A FIFO that nobody ever writes to is refused, not waited for.
mkfifo lonely
t ask -q -f lonely q 2>&1
