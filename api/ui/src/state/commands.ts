import { signal } from '@preact/signals';
import type { Fault } from '../lib/fault';
import { type Answers, doneText, type Order } from '../lib/orders';
import { AskError, request } from './client';
import { meaningOf } from './reasons';
import { announce } from './announcer';

// done says what was carried out last, until somebody has seen that. An object: the same may be done twice.
export const done = signal<{ text: string } | undefined>(undefined);

// give has an order carried out. The same key given twice is carried out once. It returns why that was not done, if so.
export async function give(order: Order, answers: Answers, key: string): Promise<Fault | undefined> {
  const body = order.body(answers, Date.now());
  const headers: Record<string, string> = { 'Idempotency-Key': key };
  if (body) headers['Content-Type'] = 'application/json';
  try {
    const answer = await request(order.path, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
    const { outcome } = (await answer.json()) as { outcome?: string };
    const text = doneText(order, outcome, outcome ? meaningOf(outcome) : '');
    done.value = { text };
    announce(text);
    return undefined;
  } catch (error) {
    return error instanceof AskError ? error.fault : { kind: 'unreachable' };
  }
}

// newKey tells one order from every other.
export const newKey = (): string => [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, '0')).join('');
