import assert from 'node:assert/strict';
import test from 'node:test';
import { doneText, freezeOf, goOnWith, pauseOf, reloadOf, resumeOf, retryOf, thawOf, untilOf } from './orders';

const now = Date.parse('2026-11-21T12:00:00.250Z');
const nothing = { reason: '', namespace: '', selector: '', until: '' };
const cart = { kind: 'Deployment', namespace: 'shop', name: 'cart' };

test('orders go where the API takes them', () => {
  assert.equal(reloadOf('prod', cart).path, 'workloads/prod/shop/Deployment/cart/reload');
  assert.equal(retryOf('prod', cart).path, 'workloads/prod/shop/Deployment/cart/retry');
  assert.equal(goOnWith('prod', { kind: 'ConfigMap', namespace: 'shop', name: 'a/b' }).path, 'configs/prod/shop/ConfigMap/a%2Fb/retry');
  assert.equal(freezeOf('prod').path, 'clusters/prod/freeze');
  assert.equal(thawOf('prod').path, 'clusters/prod/thaw');
});

test('what was left empty is not sent', () => {
  assert.deepEqual(reloadOf('prod', cart).body({ ...nothing, reason: '  ' }, now), {});
  assert.deepEqual(reloadOf('prod', cart).body({ ...nothing, reason: ' new certificates ' }, now), { reason: 'new certificates' });
  assert.equal(retryOf('prod', cart).body(nothing, now), undefined);
  assert.deepEqual(freezeOf('prod').body(nothing, now), {});
});

test('a pause of one namespace stays in it, and any other goes where it is told to', () => {
  const until = '2026-11-21T13:00:01.000Z';
  const hour = { ...nothing, until: '3600', selector: 'app=cart' };
  assert.deepEqual(pauseOf('prod', 'shop').body({ ...hour, namespace: 'other' }, now), { namespace: 'shop', selector: 'app=cart', until });
  assert.deepEqual(pauseOf('prod').body({ ...hour, namespace: 'other' }, now), { namespace: 'other', selector: 'app=cart', until });
  assert.deepEqual(pauseOf('prod').body({ ...nothing, until: '3600' }, now), { until });
});

test('a pause is ended by what it was begun with', () => {
  assert.deepEqual(resumeOf('prod', { namespace: 'shop', selector: 'app=cart', until: '' }).body(nothing, now), { namespace: 'shop', selector: 'app=cart' });
  assert.deepEqual(resumeOf('prod', { selector: '', until: '' }).body(nothing, now), {});
});

test('what lasts for no set time has no end', () => {
  assert.equal(untilOf('', now), undefined);
  assert.equal(untilOf('1800', now), '2026-11-21T12:30:01.000Z');
});

test('an outcome that is no reload is told', () => {
  assert.equal(doneText(reloadOf('prod', cart), 'Reloaded', 'was rolled'), 'cart was reloaded.');
  assert.equal(doneText(reloadOf('prod', cart), 'DryRun', 'would be rolled'), 'cart would be rolled.');
  assert.equal(doneText(thawOf('prod'), undefined, ''), 'The reloads of prod are thawed.');
});
