import assert from 'node:assert/strict';
import test from 'node:test';
import { Throttle } from './throttle';

// wait lets timers of up to so many milliseconds go off.
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('work is never done twice at once, and once more if it was asked for meanwhile', async () => {
  let at = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const throttle = new Throttle(
    async () => {
      most = Math.max(most, ++at);
      await new Promise<void>((end) => ends.push(end));
      at--;
    },
    1,
    1,
  );
  void throttle.now();
  for (let i = 0; i < 5; i++) throttle.soon();
  await wait(20);
  assert.equal(ends.length, 1);
  ends[0]?.();
  await wait(20);
  assert.equal(ends.length, 2);
  ends[1]?.();
  await wait(20);
  assert.deepEqual([ends.length, most], [2, 1]);
});

test('the pause grows with the work', async () => {
  const begun: number[] = [];
  const throttle = new Throttle(async () => {
    begun.push(Date.now());
    await wait(50);
  }, 1);
  void throttle.now();
  throttle.soon();
  while (begun.length < 2) await wait(5);
  throttle.end();
  assert.ok(begun[1]! - begun[0]! >= 240, `${begun[1]! - begun[0]!} ms`);
});

test('what is asked for after the work waits for the rest of the pause', async () => {
  const begun: number[] = [];
  const throttle = new Throttle(async () => {
    begun.push(Date.now());
    await wait(50);
  }, 1);
  await throttle.now();
  throttle.soon();
  while (begun.length < 2) await wait(5);
  assert.ok(begun[1]! - begun[0]! >= 240, `${begun[1]! - begun[0]!} ms`);
});

test('what was asked for is not begun after the end', async () => {
  let done = 0;
  const throttle = new Throttle(async () => void done++, 1);
  throttle.soon();
  throttle.end();
  const running = throttle.now();
  throttle.soon();
  throttle.end();
  await running;
  await wait(20);
  assert.equal(done, 1);
});
