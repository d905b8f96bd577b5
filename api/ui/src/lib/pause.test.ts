import assert from 'node:assert/strict';
import test from 'node:test';
import { pause } from './pause';

// Counted counts the listeners of a signal.
class Counted extends AbortController {
  listeners = 0;

  constructor() {
    super();
    const { signal } = this;
    const add = signal.addEventListener.bind(signal) as (...args: unknown[]) => void;
    const remove = signal.removeEventListener.bind(signal) as (...args: unknown[]) => void;
    signal.addEventListener = (...args: unknown[]) => (this.listeners++, add(...args));
    signal.removeEventListener = (...args: unknown[]) => (this.listeners--, remove(...args));
  }
}

test('a pause that is over leaves no listener', async () => {
  const counted = new Counted();
  for (let i = 0; i < 3; i++) await pause(1, counted.signal);
  assert.equal(counted.listeners, 0);
});

test('a pause ends when it is aborted, before it or during it', async () => {
  const abort = new AbortController();
  const during = pause(3_600_000, abort.signal);
  abort.abort(new Error('enough'));
  await assert.rejects(during, /enough/);
  await assert.rejects(pause(3_600_000, abort.signal), /enough/);
});
