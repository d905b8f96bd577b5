import assert from 'node:assert/strict';
import test from 'node:test';
import { type Filter, isNarrow, matches, noFilter } from './filter';
import type { TimelineRow } from './timelinestore';

const row = {
  change: {
    id: 'c-1',
    cluster: 'prod-eu',
    config: { kind: 'ConfigMap', namespace: 'shop', name: 'settings' },
    type: 'Updated',
    keys: [{ key: 'LOG_LEVEL', op: 'Changed' }],
    candidates: [{ user: 'alice@example.com', userAgent: 'kubectl/v1.36.3' }],
    source: 'audit',
    verifiedAt: '2026-01-01T00:00:00Z',
  },
  reloads: [{ id: 'r-1', cluster: 'prod-eu', workload: { kind: 'Deployment', namespace: 'shop', name: 'cart' }, outcome: 'Refused' }],
  pending: [{ cluster: 'prod-eu', workload: { kind: 'Deployment', namespace: 'shop', name: 'mailer' }, hold: { reason: 'Frozen' } }],
} as unknown as TimelineRow;
const finds = (f: Partial<Filter>, r = row): boolean => matches(r, { ...noFilter, ...f });

test('every part of a filter narrows', () => {
  assert.equal(isNarrow(noFilter), false);
  assert.ok(finds({}) && finds({ cluster: 'prod-eu', namespace: 'shop', kind: 'ConfigMap', tone: 'bad' }));
  for (const other of [{ cluster: 'prod-us' }, { namespace: 'data' }, { kind: 'Secret' }, { tone: 'good' }]) {
    assert.equal(isNarrow({ ...noFilter, ...other }), true);
    assert.equal(finds(other), false, JSON.stringify(other));
  }
});

test('each word of a text is looked for in all that a row says', () => {
  for (const text of ['ALICE settings', 'log_level', 'Deployment shop/cart', 'frozen mailer', 'kubectl']) assert.ok(finds({ text }), text);
  assert.equal(finds({ text: 'alice smtp' }), false);
});

test('a tone is that of a reload or of a hold, or of a row without either', () => {
  assert.ok(finds({ tone: 'wait' }));
  assert.equal(finds({ tone: 'none' }), false);
  assert.ok(finds({ tone: 'none' }, { ...row, reloads: [], pending: [] }));
});
