import { answering, asked, end, hide, problem, tell, until } from './testpage';
import assert from 'node:assert/strict';
import test from 'node:test';
import { ask } from './api';
import { link, start } from './live';
import { Question } from './resource';

const question = () => new Question<{ name: string }>((abort) => ask('list', abort), ['workloads'], 1);
const nameOf = (q: Question<{ name: string }>) => q.state.value.data?.name;

// asking starts a question that is answered with what the test says at the moment.
async function asking() {
  if (link.value === 'connecting') start();
  await until('the stream is open', () => link.value === 'live');
  const said: { answer: unknown } = { answer: { name: 'a' } };
  answering(() => said.answer);
  const q = question();
  const stop = q.start();
  await until('there is an answer', () => nameOf(q) === 'a');
  return { q, said, stop };
}

test('the server is asked again when it says that something has changed, and not for other listings', async () => {
  const { q, said, stop } = await asking();
  said.answer = { name: 'b' };
  tell('changes', 'clusters');
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(asked.length, 1);
  tell('reloads', 'workloads');
  await until('it is asked again', () => nameOf(q) === 'b');
  stop();
  tell('workloads');
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(asked.length, 2);
});

test('what changes while an answer is on its way is asked for afterwards', async () => {
  const { q, said, stop } = await asking();
  let release: (answer: unknown) => void = () => undefined;
  said.answer = new Promise((done) => (release = done));
  tell('workloads');
  await until('it is asked', () => asked.length === 2);
  tell('workloads');
  tell('workloads');
  said.answer = { name: 'newest' };
  release({ name: 'older' });
  await until('the newest is there', () => nameOf(q) === 'newest');
  assert.equal(asked.length, 3);
  stop();
});

test('data stays while the server has no answer, and goes when it may not be seen', async () => {
  const { q, said, stop } = await asking();
  said.answer = problem(500);
  tell('workloads');
  await until('the fault is told', () => q.state.value.fault?.kind === 'refused');
  assert.equal(nameOf(q), 'a');
  said.answer = problem(403);
  tell('workloads');
  await until('the fault is told', () => q.state.value.fault?.kind === 'forbidden');
  assert.equal(nameOf(q), undefined);
  stop();
});

test('a page that is not in sight asks nothing until it is', async () => {
  const { q, said, stop } = await asking();
  said.answer = { name: 'b' };
  hide(true);
  tell('workloads');
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(asked.length, 1);
  hide(false);
  await until('it is asked', () => nameOf(q) === 'b');
  stop();
});

test('a stream that ends is opened again, and its first event has everything asked again', async () => {
  const { q, said, stop } = await asking();
  said.answer = { name: 'after' };
  end();
  await until('it is asked again', () => nameOf(q) === 'after');
  assert.equal(link.value, 'live');
  stop();
});
