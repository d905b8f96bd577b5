import assert from 'node:assert/strict';
import test from 'node:test';
import { keyOf, type Listing, mergeCluster, mergeUnsettled, mergeWorkload } from './listing';
import type { Cluster, Workload } from './types';

const workload = (name: string, reason?: string, cluster = 'local'): Workload => ({
  cluster,
  workload: { kind: 'Deployment', namespace: 'shop', name },
  uid: name,
  dialect: 'stakater',
  strategy: 'env-vars',
  problems: [],
  updatedAt: '',
  verdict: { state: reason ?? 'UpToDate', message: '', needsAttention: reason === 'Failed', waits: reason === 'Frozen' },
  dependencies: [{ config: { kind: 'Secret', namespace: 'shop', name: 'smtp' }, why: 'Auto', uses: [], ...(reason && { pendingChange: 'c-1' }) }],
  ...(reason && { hold: { reason, since: '' } }),
});
const event = (type: string, data: unknown) => ({ id: '', type, data: JSON.stringify(data) });
const list = <T>(items: T[], complete = true): Listing<T> => ({ items, warnings: [], complete });
const names = (l: Listing<Workload>) => l.items.map((w) => `${w.cluster}/${w.workload.name}`);

test('a workload that comes, changes or goes is merged in its place', () => {
  let all = list([workload('a'), workload('c')]);
  all = mergeWorkload(all, event('workload', workload('b')));
  all = mergeWorkload(all, event('workload', workload('c', 'Frozen')));
  all = mergeWorkload(all, event('workload', workload('c', undefined, 'other')));
  assert.deepEqual(names(all), ['local/a', 'local/b', 'local/c', 'other/c']);
  assert.equal(all.items[2]?.hold?.reason, 'Frozen');
  all = mergeWorkload(all, event('workloadGone', workload('a')));
  assert.deepEqual(names(all), ['local/b', 'local/c', 'other/c']);
  assert.equal(mergeWorkload(all, event('workloadGone', workload('a'))), all);
});

test('an incomplete list takes nothing behind its end', () => {
  const part = list([workload('a'), workload('c')], false);
  assert.equal(mergeWorkload(part, event('workload', workload('d'))), part);
  assert.deepEqual(names(mergeWorkload(part, event('workload', workload('b')))), ['local/a', 'local/b', 'local/c']);
});

test('what waits or needs attention is listed as long as it does', () => {
  let unsettled = mergeUnsettled(list<Workload>([]), event('workload', workload('a', 'Failed')));
  unsettled = mergeUnsettled(unsettled, event('workload', workload('b', 'Frozen')));
  assert.deepEqual(
    unsettled.items.map((w) => w.verdict.state),
    ['Failed', 'Frozen'],
  );
  unsettled = mergeUnsettled(unsettled, event('workload', workload('a')));
  unsettled = mergeUnsettled(unsettled, event('workloadGone', workload('b')));
  assert.deepEqual(unsettled.items, []);
});

test('a cluster that tells of itself takes the place of what it told before', () => {
  const cluster = (name: string, health: string) => ({ name, health }) as Cluster;
  const merged = mergeCluster(list([cluster('a', 'Healthy'), cluster('b', 'Healthy')]), event('cluster', cluster('a', 'Degraded')));
  assert.deepEqual(
    merged.items.map((c) => c.health),
    ['Degraded', 'Healthy'],
  );
});

test('the order is that of the server: namespace, name, kind, cluster', () => {
  assert.ok(keyOf(workload('a', undefined, 'z')) < keyOf(workload('b', undefined, 'a')));
});
