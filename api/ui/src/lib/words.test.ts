import assert from 'node:assert/strict';
import test from 'node:test';
import { passes } from './fault';
import { type Filter, matches, noFilter } from './filter';
import { duration, keysText, personName, relative, verbOf, who } from './format';
import { partsOf, stateOf, toneOf, wordsOf } from './outcome';
import { ticks } from './ticks';
import type { Candidate, Change } from './types';
import type { TimelineRow } from './timelinestore';

const now = Date.parse('2026-11-21T12:00:00Z');
const before = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const candidate = (user: string): Candidate => ({ user, verb: 'patch', time: before(0), basis: 'OnlyWriter', userAgent: 'kubectl/v1.37 (linux)' });

const cases: [string, unknown, unknown][] = [
  ['a moment ago', relative(before(3), now), 'now'],
  ['seconds', relative(before(59), now), '59 s ago'],
  ['minutes are whole', relative(before(119), now), '1 min ago'],
  ['hours', relative(before(7200), now), '2 h ago'],
  ['days', relative(before(200_000), now), '2 d ago'],
  ['what is to come', relative(before(-90), now), 'in 1 min'],
  ['no time at all', relative('', now), '–'],
  ['milliseconds', duration(0.0614), '61 ms'],
  ['almost a second', duration(0.9999), '1.0 s'],
  ['seconds with a digit', duration(1.24), '1.2 s'],
  ['minutes and seconds', duration(75), '1 min 15 s'],
  ['no 60 seconds', [59.4, 59.7, 119.7, 3599.7].map(duration), ['59 s', '1 min 0 s', '2 min 0 s', '1 h 0 min']],
  ['a service account is namespace/name', personName('system:serviceaccount:flux-system:kustomize'), 'flux-system/kustomize'],
  ['one candidate is named', who({ candidates: [candidate('alice')], source: 'audit' }), { name: 'alice', note: 'with kubectl' }],
  ['of two none is asserted', who({ candidates: [candidate('alice'), candidate('bob')], source: 'audit' }).name, 'one of alice, bob'],
  ['the same twice is one', who({ candidates: [candidate('alice'), candidate('alice')], source: 'audit' }).name, 'alice'],
  ['nobody is not made up', who({ candidates: [], source: 'sweep' }), { name: '', note: 'found by the sweep' }],
  [
    'keys with their signs',
    keysText(
      [
        { key: 'a', op: 'Added' },
        { key: 'b', op: 'Removed' },
        { key: 'c', op: 'Changed' },
      ],
      2,
    ),
    '+a −b and 1 more',
  ],
  ['what a newer server says of a key', keysText([{ key: 'name', op: 'Renamed' }]), 'name'],
  ['what a newer server says of a config', verbOf({ type: 'MovedAway' } as Change), 'moved away'],
  ['a reason in words', wordsOf('PausedByOperator'), 'Paused by operator'],
  ['a reason of a newer server is calm', toneOf('SomethingNew'), 'calm'],
  ['a rollout says more than its reload', stateOf({ outcome: 'Reloaded', rollout: { result: 'Stalled', startedAt: '' } }), 'Stalled'],
  ['a server that is away may come back', passes({ kind: 'unreachable' }), true],
  ['one that has no answer may have one later', passes({ kind: 'refused', status: 503, detail: '' }), true],
  ['and one that was asked too much', passes({ kind: 'refused', status: 429, detail: '' }), true],
  ['a question that it does not take never passes', passes({ kind: 'refused', status: 422, detail: '' }), false],
  ['nor does a right that is missing', passes({ kind: 'forbidden' }), false],
  ['round marks on an axis', ticks(18, true), [0, 5, 10, 15, 20]],
  ['an axis of one has room above it', ticks(1, true), [0, 1, 2]],
  ['an axis of parts', ticks(1.6, false), [0, 0.5, 1, 1.5, 2]],
];

for (const [name, got, want] of cases) {
  test(name, () => assert.deepEqual(got, want));
}

const row: TimelineRow = {
  change: {
    id: 'c-1',
    cluster: 'local',
    config: { kind: 'Secret', namespace: 'shop', name: 'smtp' },
    type: 'Updated',
    keys: [{ key: 'password', op: 'Changed' }],
    candidates: [candidate('alice')],
    source: 'audit',
    verifiedAt: before(0),
  },
  reloads: [
    { id: 'r-1', cluster: 'local', workload: { kind: 'Deployment', namespace: 'shop', name: 'mailer' }, outcome: 'Refused', decidedAt: before(0) },
    { id: 'r-2', cluster: 'local', workload: { kind: 'Deployment', namespace: 'shop', name: 'cart' }, outcome: 'Reloaded', decidedAt: before(0) },
    { id: 'r-3', cluster: 'local', workload: { kind: 'Deployment', namespace: 'shop', name: 'web' }, outcome: 'Reloaded', decidedAt: before(0) },
  ],
  pending: [],
};

test('the worst is told first', () => {
  assert.deepEqual(partsOf(row), [
    { state: 'Refused', count: 1 },
    { state: 'Reloaded', count: 2 },
  ]);
});

test('one that was given up and still waits is counted once', () => {
  const waits = (name: string) => ({ ...row, pending: [{ cluster: 'local', workload: { kind: 'Deployment', namespace: 'shop', name }, hold: { reason: 'Refused', since: before(0) } }] });
  assert.deepEqual(partsOf(waits('mailer')), [
    { state: 'Refused', count: 1 },
    { state: 'Reloaded', count: 2 },
  ]);
  assert.deepEqual(partsOf(waits('other')), [
    { state: 'Refused', count: 2 },
    { state: 'Reloaded', count: 2 },
  ]);
});

const filters: [string, Partial<Filter>, boolean][] = [
  ['no filter', {}, true],
  ['who', { text: 'ALICE' }, true],
  ['what and which', { text: 'shop/smtp mailer' }, true],
  ['a key', { text: 'password' }, true],
  ['one word that is not there', { text: 'alice nothing' }, false],
  ['another namespace', { namespace: 'data' }, false],
  ['another kind', { kind: 'ConfigMap' }, false],
  ['what failed', { tone: 'bad' }, true],
  ['what waits', { tone: 'wait' }, false],
  ['without a workload', { tone: 'none' }, false],
];

for (const [name, filter, want] of filters) {
  test(`filter: ${name}`, () => assert.equal(matches(row, { ...noFilter, ...filter }), want));
}
