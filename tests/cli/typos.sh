# SPDX-License-Identifier: BSD-2-Clause
# A word that is nearly one that is known: the message names that.  A word like none is told what there is.
t aks
t sekect
t xylophone
t ask --shedule stream -f text q
t ask --Method=full -f text q
t ask --xylophone -f text q
t ask --ke 3 -f text q
t ask -schedule stream -f text q
t ask --method gemfiler -f text q
t ask --method gemfilter:kernle=3 -f text q
t ask --schedule steam -f text q
t ask --kv-type f17 -f text q
t ask --template llma3 -f text q
t ask --device cdua -f text q
t index --grade copmact library text
t eval nihaa
t eval xylophone
# What people type from habit.
t run llama3
t pull llama3
t ask -p q -f text
t ask -f text -ngl 99 q
t ask --n-gpu-layers=99 -f text q
t ask -cnv -f text
