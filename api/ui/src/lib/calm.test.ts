import assert from 'node:assert/strict';
import test from 'node:test';
import { Calm } from './calm';

// wait lets timers of up to so many milliseconds go off.
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('work is never done twice at once, and once more if it was asked for meanwhile', async () => {
  let at = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const calm = new Calm(async () => {
    most = Math.max(most, ++at);
    await new Promise<void>((end) => ends.push(end));
    at--;
  }, 1, 1);
  void calm.now();
  for (let i = 0; i < 5; i++) calm.soon();
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
  const calm = new Calm(async () => {
    begun.push(Date.now());
    await wait(50);
  }, 1);
  void calm.now();
  calm.soon();
  while (begun.length < 2) await wait(5);
  calm.end();
  assert.ok(begun[1]! - begun[0]! >= 240, `${begun[1]! - begun[0]!} ms`);
});

test('what is asked for after the work waits for the rest of the pause', async () => {
  const begun: number[] = [];
  const calm = new Calm(async () => {
    begun.push(Date.now());
    await wait(50);
  }, 1);
  await calm.now();
  calm.soon();
  while (begun.length < 2) await wait(5);
  assert.ok(begun[1]! - begun[0]! >= 240, `${begun[1]! - begun[0]!} ms`);
});

test('what was asked for is not begun after the end', async () => {
  let done = 0;
  const calm = new Calm(async () => void done++, 1);
  calm.soon();
  calm.end();
  const running = calm.now();
  calm.soon();
  calm.end();
  await running;
  await wait(20);
  assert.equal(done, 1);
});
