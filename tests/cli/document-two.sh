# SPDX-License-Identifier: BSD-2-Clause
# Spans count from the beginning of their own file, headers name it.
printf 'The cat is on the mat.\n' >first
printf 'The hat is in the bottle.\n' >second
t select -f first -f second --method full q 2>/dev/null
gemkv select -f first -f second --method full --json q | sed 's/.*"kept": //'
