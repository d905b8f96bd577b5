import { answering, asked, problem, tell, until } from './testpage';
import assert from 'node:assert/strict';
import test from 'node:test';
import { ask } from './client';
import * as eventStream from './eventstream';
import { link } from './eventstream';
import { Question, type Timing } from './resource';

interface List {
  names: string[];
}

const timing: Timing<List> = {
  events: ['added', 'odd'],
  least: 1,
  merge: (list, event) => (event.type === 'odd' ? undefined : { names: [...list.names, (JSON.parse(event.data) as { name: string }).name] }),
};
const question = (t: Timing<List> = timing) => new Question<List>((abort) => ask<List>('list', abort), t);
const names = (q: Question<List>) => q.state.value.data?.names.join(' ');

// live waits for the stream to be open, and for what its beginning has asked for.
async function live(): Promise<void> {
  answering(() => ({}));
  eventStream.start();
  await until('the stream is open', () => link.value === 'live');
}

test('an event is merged, and the server not asked again', async () => {
  await live();
  answering(() => ({ names: ['a'] }));
  const q = question();
  const end = q.start();
  await until('there is an answer', () => names(q) === 'a');
  tell('added', { name: 'b' });
  tell('added', { name: 'c' });
  tell('other', { name: 'd' });
  await until('both are merged', () => names(q) === 'a b c');
  assert.deepEqual(asked, ['list']);
  end();
});

test('what cannot be merged has the server asked again', async () => {
  let name = 'a';
  answering(() => ({ names: [name] }));
  const q = question();
  const end = q.start();
  await until('there is an answer', () => names(q) === 'a');
  name = 'newer';
  tell('odd', {});
  await until('it is asked again', () => names(q) === 'newer');
  assert.equal(asked.length, 2);
  end();
});

test('an event that comes while an answer is on its way is in the data afterwards', async () => {
  let release: (list: List) => void = () => undefined;
  answering(() => new Promise<List>((done) => (release = done)));
  const q = question();
  const end = q.start();
  await until('it is asked', () => asked.length === 1);
  tell('added', { name: 'b' });
  await until('the event has come', () => true);
  await new Promise((done) => setTimeout(done, 200));
  release({ names: ['a'] });
  await until('the older answer has it, too', () => names(q) === 'a b');
  end();
});

test('data stays while the server has no answer, and goes when it may not be seen', async () => {
  let answer: unknown = { names: ['a'] };
  answering(() => answer);
  const q = question({ events: ['odd'], least: 1 });
  const end = q.start();
  await until('there is an answer', () => names(q) === 'a');
  answer = problem(500);
  tell('odd', {});
  await until('the fault is told', () => q.state.value.fault?.kind === 'refused');
  assert.equal(names(q), 'a');
  answer = problem(403);
  tell('odd', {});
  await until('the fault is told', () => q.state.value.fault?.kind === 'forbidden');
  assert.equal(q.state.value.data, undefined);
  end();
});

test('events that do not concern it, and what comes after the end, ask nothing', async () => {
  answering(() => ({ names: ['a'] }));
  const q = question({ events: ['odd'], least: 1, concerns: (event) => event.data.includes('mine') });
  const end = q.start();
  await until('there is an answer', () => names(q) === 'a');
  tell('odd', { name: 'theirs' });
  tell('odd', { name: 'mine' });
  await until('it is asked again', () => asked.length === 2);
  end();
  tell('odd', { name: 'mine' });
  await new Promise((done) => setTimeout(done, 100));
  assert.equal(asked.length, 2);
});
