import assert from 'node:assert/strict';
import test from 'node:test';
import { TimelineStore, type TimelineRow } from './timelinestore';
import type { Change, Reload, Workload } from './types';

const ref = (name: string) => ({ kind: 'Deployment', namespace: 'shop', name });
const at = (n: number) => new Date(1_000_000_000_000 + n * 1000).toISOString();

const change = (n: number): Change => ({
  id: `c-${n}`,
  cluster: 'local',
  config: { kind: 'ConfigMap', namespace: 'shop', name: 'settings' },
  type: 'Updated',
  keys: [],
  candidates: [],
  source: 'audit',
  verifiedAt: at(n),
});
const row = (n: number): TimelineRow => ({ change: change(n), reloads: [], pending: [] });
const reload = (id: string, n: number, outcome: string, name = 'cart', cluster = 'local'): Reload => ({
  id,
  cluster,
  workload: ref(name),
  outcome,
  decidedAt: at(n),
  causes: [{ changeID: `c-${n}`, config: change(n).config, why: 'Auto', keys: [], candidates: [], source: 'audit', verifiedAt: at(n) }],
});
const workload = (pending: string | undefined, reason?: string, cluster = 'local'): Workload => ({
  cluster,
  workload: ref('cart'),
  uid: 'u',
  dialect: 'stakater',
  strategy: 'env-vars',
  problems: [],
  updatedAt: at(0),
  verdict: { state: reason ? 'Held' : 'UpToDate', message: '' },
  dependencies: [{ config: change(0).config, why: 'Auto', uses: [], ...(pending && { pendingChange: pending }) }],
  ...(reason && { hold: { reason, since: at(0) } }),
});
const ids = (store: TimelineStore) => store.rows.map((r) => r.change.id);

test('rows are newest first, however they come', () => {
  const store = new TimelineStore();
  store.add([row(5), row(3)]);
  store.add([row(9), row(1)]);
  assert.equal(store.change(change(7)), true);
  assert.deepEqual(ids(store), ['c-9', 'c-7', 'c-5', 'c-3', 'c-1']);
});

test('the same change again is no new row', () => {
  const store = new TimelineStore();
  store.add([row(1)]);
  store.reload(reload('r', 1, 'Reloaded'));
  assert.equal(store.change({ ...change(1), source: 'sweep' }), false);
  assert.deepEqual(ids(store), ['c-1']);
  assert.equal(store.get('c-1')?.reloads.length, 1);
  assert.equal(store.get('c-1')?.change.source, 'sweep');
});

test('a reload ends the wait of its workload, and its rollout replaces it', () => {
  const store = new TimelineStore();
  store.add([row(1)]);
  store.workload(workload('c-1', 'Frozen'));
  assert.equal(store.get('c-1')?.pending[0]?.hold?.reason, 'Frozen');
  store.reload(reload('r', 1, 'Reloaded'));
  store.reload({ ...reload('r', 1, 'Reloaded'), rollout: { result: 'RolledOut', startedAt: at(1) } });
  assert.deepEqual(store.get('c-1')?.pending, []);
  assert.deepEqual(
    store.get('c-1')?.reloads.map((r) => r.rollout?.result),
    ['RolledOut'],
  );
});

test('a reload that comes before its change is kept for it', () => {
  const store = new TimelineStore();
  store.reload(reload('r', 1, 'Reloaded'));
  store.change(change(1));
  assert.deepEqual(
    store.get('c-1')?.reloads.map((r) => r.id),
    ['r'],
  );
});

test('a workload that waits for another change leaves the row of the one before', () => {
  const store = new TimelineStore();
  store.add([row(2), row(1)]);
  store.workload(workload('c-1'));
  store.workload(workload('c-2'));
  assert.deepEqual(store.get('c-1')?.pending, []);
  assert.equal(store.get('c-2')?.pending.length, 1);
  store.workload(workload(undefined));
  assert.deepEqual(store.get('c-2')?.pending, []);
});

test('a change whose workloads wait for a newer one of its config is superseded', () => {
  const store = new TimelineStore();
  const other = { ...row(3), change: { ...change(3), config: { ...change(3).config, name: 'other' } } };
  store.add([other, row(2), row(1)]);
  const superseded = () => [1, 2, 3].filter((n) => store.superseded(store.get(`c-${n}`)!));
  store.workload(workload('c-1', 'Frozen'));
  assert.deepEqual(superseded(), []);
  store.workload(workload('c-2', 'Frozen'));
  assert.deepEqual(superseded(), [1]);
  store.reload(reload('r', 2, 'Reloaded'));
  assert.deepEqual(superseded(), [1]);
});

test('a row is replaced, not altered', () => {
  const store = new TimelineStore();
  store.add([row(1)]);
  const before = store.get('c-1');
  store.reload(reload('r', 1, 'Reloaded'));
  assert.notEqual(store.get('c-1'), before);
  assert.equal(before?.reloads.length, 0);
});

test('a reload of two changes is told of both, whichever comes first', () => {
  const store = new TimelineStore();
  const both: Reload = { ...reload('r', 1, 'Reloaded'), causes: [1, 2].flatMap((n) => reload('r', n, 'Reloaded').causes ?? []) };
  store.change(change(1));
  store.reload(both);
  store.reload(reload('later', 1, 'Refused'));
  store.change(change(2));
  assert.deepEqual(
    ['c-1', 'c-2'].map((id) => store.get(id)?.reloads.map((r) => r.id)),
    [['later'], ['r']],
  );
});

test('what is told of a change before it comes is told in its order', () => {
  const cases: [string, (store: TimelineStore) => void, string[], string[]][] = [
    ['a workload that waits', (b) => b.workload(workload('c-1', 'Frozen')), [], ['Frozen']],
    ['and waits otherwise', (b) => (b.workload(workload('c-1', 'Frozen')), b.workload(workload('c-1', 'Paused'))), [], ['Paused']],
    ['and waits no longer', (b) => (b.workload(workload('c-1', 'Frozen')), b.workload(workload(undefined))), [], []],
    ['and is rolled', (b) => (b.workload(workload('c-1', 'Frozen')), b.reload(reload('r', 1, 'Reloaded'))), ['Reloaded'], []],
    ['is not rolled, and waits', (b) => (b.reload(reload('r', 1, 'Refused')), b.workload(workload('c-1', 'Refused'))), ['Refused'], ['Refused']],
  ];
  for (const [name, told, reloads, pending] of cases) {
    const store = new TimelineStore();
    told(store);
    store.change(change(1));
    assert.deepEqual(
      store.get('c-1')?.reloads.map((r) => r.outcome),
      reloads,
      name,
    );
    assert.deepEqual(
      store.get('c-1')?.pending.map((p) => p.hold?.reason),
      pending,
      name,
    );
  }
});

test('what the server no longer lists is dropped, and can come again', () => {
  const store = new TimelineStore();
  store.add([row(5), row(4), row(3), row(2), row(1)]);
  store.renew([row(5), row(3)], true);
  assert.deepEqual(ids(store), ['c-5', 'c-3', 'c-2', 'c-1']);
  store.renew([row(9), row(8)], true);
  assert.deepEqual(ids(store), ['c-9', 'c-8']);
  store.renew([row(9)]);
  assert.deepEqual([ids(store), store.get('c-8')], [['c-9'], undefined]);
  store.add([row(8)]);
  assert.deepEqual(ids(store), ['c-9', 'c-8']);
  store.clear();
  assert.deepEqual([ids(store), store.get('c-9')], [[], undefined]);
});

test('what was heard of late is no proof that anything is gone', () => {
  const nineToOne = () => [9, 8, 7, 6, 5, 4, 3, 2, 1].map(row);
  const late = (n: number): TimelineRow => ({ ...row(n), change: { ...change(n), id: `late-${n}` } });
  const all = ids(Object.assign(new TimelineStore(), { rows: nineToOne() }));
  const cases: [string, TimelineRow[], TimelineRow[], string[]][] = [
    ['first of the page', nineToOne(), [late(2), row(9)], [...all.slice(0, 8), 'late-2', 'c-1']],
    ['last of the page', [row(9), row(2), row(8), row(7), row(6), row(5), row(4), row(3), row(1)], [row(9), row(2)], all],
    ['come since', nineToOne(), [row(11), late(3), row(9)], ['c-11', ...all.slice(0, 7), 'late-3', 'c-2', 'c-1']],
  ];
  for (const [name, before, page, want] of cases) {
    const store = new TimelineStore();
    store.add(before);
    store.renew(page, true);
    assert.deepEqual(ids(store).sort(), [...want].sort(), name);
  }
});

test('a store never has more rows than there is room for, and keeps the newest', () => {
  const store = new TimelineStore(3);
  store.add([row(5), row(4), row(3), row(2)]);
  assert.deepEqual([ids(store), store.get('c-2'), store.isFull], [['c-5', 'c-4', 'c-3'], undefined, true]);
  assert.equal(store.change(change(6)), true);
  assert.equal(store.change(change(1)), false);
  assert.deepEqual([ids(store), store.get('c-3'), store.get('c-1')], [['c-6', 'c-5', 'c-4'], undefined, undefined]);
  store.renew([row(9), row(8), row(7), row(6)]);
  assert.deepEqual(ids(store), ['c-9', 'c-8', 'c-7']);
});

test('workloads of one name in several clusters are told apart', () => {
  const store = new TimelineStore();
  store.add([row(1)]);
  for (const cluster of ['c2', 'c3']) store.workload(workload('c-1', 'Frozen', cluster));
  assert.deepEqual(
    store.get('c-1')?.pending.map((p) => p.cluster),
    ['c2', 'c3'],
  );
  store.reload(reload('r', 1, 'Reloaded', 'cart', 'c2'));
  assert.deepEqual(
    store.get('c-1')?.pending.map((p) => p.cluster),
    ['c3'],
  );
  store.reload(reload('r', 1, 'Refused', 'cart', 'c3'));
  assert.deepEqual(
    store.get('c-1')?.reloads.map((r) => `${r.cluster} ${r.outcome}`),
    ['c2 Reloaded', 'c3 Refused'],
  );
  store.workload(workload('c-1', 'Refused', 'c3'));
  store.workload(workload(undefined, undefined, 'c3'));
  assert.deepEqual(store.get('c-1')?.pending, []);
});
