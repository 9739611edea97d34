#!/usr/bin/env python3
#
# plant.py SEED
#
# Plants a repeat in raw notes (doc/evidence/notes.md): an id of one session is noted again, in
# another session before or after the same promotions.

import random
import sys

random.seed(sys.argv[1])
lines = [line.split('\t') for line in sys.stdin]
ids = [i for i, line in enumerate(lines) if line[0] == 'ids']
old = lines[random.choice(ids)]
at = random.choice([i for i in ids if lines[i][1] != old[1] and lines[i][3] == old[3]])
new = lines[at].copy()
new[7] = f'{int(old[7], 16) + random.randrange(int(old[8])):018x}'
new[8] = '1\n'
lines.insert(at + 1, new)
print(f'# planted: {new[7]} of session {old[1]}, again in session {new[1]}', file=sys.stderr)
sys.stdout.writelines('\t'.join(line) for line in lines)
