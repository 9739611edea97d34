#!/usr/bin/env python3
#
# Prints a history for Jepsen's checker unique-ids from raw notes (doc/evidence/notes.md), which
# it reads from the standard input.

import sys

processes = {}          # numbers of sessions
index = 0
for line in sys.stdin:
    word, *fields = line.split('\t')
    if word != 'ids':
        continue
    session, first, count = fields[0], int(fields[6], 16), int(fields[7])
    process = processes.setdefault(session, len(processes))
    for number in range(first, first + count):
        for kind, value in ('invoke', 'nil'), ('ok', f'"{number:018x}"'):
            print(f'{{:type :{kind}, :f :generate, :value {value},'
                  f' :process {process}, :time {index}, :index {index}}}')
            index += 1
