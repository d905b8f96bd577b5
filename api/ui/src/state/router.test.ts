import './testpage';
import assert from 'node:assert/strict';
import test from 'node:test';
import { href, placeOf, route, workloadHref } from './router';

test('an address has the namespace that is shown, and parameters that are not empty', () => {
  route.value = { path: [], query: new URLSearchParams() };
  assert.equal(href([]), '#/');
  assert.equal(href([], { q: 'a b', tone: '' }), '#/?q=a+b');
  route.value = { path: [], query: new URLSearchParams('in=shop&q=x') };
  assert.equal(href(['attention']), '#/attention?in=shop');
  assert.equal(workloadHref('prod/eu', { kind: 'Deployment', namespace: 'shop', name: 'cart' }), '#/workloads/prod%2Feu/shop/Deployment/cart?in=shop');
});

test('a place takes all of its parts', () => {
  assert.deepEqual(placeOf(['workloads', 'c', 'shop', 'Deployment', 'cart']), { cluster: 'c', namespace: 'shop', kind: 'Deployment', name: 'cart' });
  assert.equal(placeOf(['workloads', 'c', 'shop', 'Deployment']), undefined);
});
