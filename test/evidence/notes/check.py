#!/usr/bin/env python3
#
# check.py [FILE ...]
#
# Looks for repeats in each of these raw notes, or in the standard input.  It was written from
# doc/evidence/notes.md alone: the words here are those of that page.

import lzma
import sys
from collections import namedtuple

Run = namedtuple('Run', 'first end session life promotions kind')
# Follows all others.
END = Run(1 << 80, 1 << 80, None, None, None, None)


class Notes:
    def __init__(self, lines):
        self.runs = []
        self.heard = {}         # for a life that was succeeded: last units by partition
        for line in lines:
            word, *fields = line.split('\t')
            if word == 'ids':
                session, life, promotions, kind, _, _, first, count = fields
                first = int(first, 16)
                self.runs.append(Run(first, first + int(count), session, int(life), int(promotions), kind))
            elif word == 'succeeded':
                self.heard[int(fields[0])] = {}
            elif word == 'heard':
                life, partition, *units = map(int, fields)
                self.heard[life][partition] = units
        self.runs.sort()
        self.unheard = [run for run in self.runs if self.is_unheard(run)]
        # Life, partition and tick-tock bit
        self.unheard_sides = set(map(self.side, self.unheard))

    @staticmethod
    def side(run):
        return run.life, run.first >> 16 & 0xffff, run.first >> 32 & 1

    def is_unheard(self, run):
        if run.life not in self.heard:
            return False
        life, partition, bit = self.side(run)
        return run.first >> 33 > self.heard[life].get(partition, (-1, -1))[bit]

    def both_unheard(self, run):
        life, partition, bit = self.side(run)
        return {(life, partition, 0), (life, partition, 1)} <= self.unheard_sides

    def common(self):
        """Intervals that are in several runs, with these."""
        at, having = 0, []
        for run in self.runs + [END]:
            while len(having) > 1 and at < run.first:
                until = min(run.first, *(other.end for other in having))
                if at < until:
                    yield at, until - at, having
                at = until
                having = [other for other in having if other.end > at]
            having = [other for other in having if other.end > run.first] + [run]
            at = run.first

    def check(self, name):
        counts = dict.fromkeys(('ids', 'twice', 'unheard', 'again_session', 'again_named', 'duplicated'), 0)
        shown = 0
        counts['ids'] = sum(run.end - run.first for run in self.runs)
        counts['unheard'] = sum(run.end - run.first for run in self.unheard)
        for first, count, having in self.common():
            having = sorted(having, key=lambda run: run.promotions)
            counts['duplicated'] += count
            for i, run in enumerate(having[1:], 1):
                before = having[:i]
                if any(old.promotions == run.promotions or not self.is_unheard(old) for old in before):
                    counts['twice'] += count
                    if shown < 3:
                        shown += 1
                        print(f'# {name}: {count} ids from {first:018x} on,'
                              f' by sessions {before[-1].session} and {run.session}')
                elif before[-1].kind == 'session':
                    counts['again_session'] += count
                elif not self.both_unheard(before[-1]):
                    counts['again_named'] += count
        for key, value in counts.items():
            print(key, value)
        return counts['twice'] + counts['again_named'] == 0


good = True
for path in sys.argv[1:] or ['-']:
    with sys.stdin if path == '-' else lzma.open(path, 'rt') as text:
        good &= Notes(text).check(path)
sys.exit(not good)
